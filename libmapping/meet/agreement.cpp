#include "meet/agreement.h"

#include "base/format.h"
#include "base/values.h"
#include "meet/proof.h"

#include <poll.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view question = "ready?";
constexpr std::size_t longest_number = 10;  // a rank, an exit status, or the question

}  // namespace

std::string agreement_name(const std::string& step, std::uint32_t node,
                           const std::optional<Secret>& secret) {
    std::string name = formatted("distgpu.{}.{}.{}", geteuid(), step, node);
    if (!secret) return name;
    // The tag's beginning: a name has 107 bytes.
    constexpr std::size_t digits = 32;
    const auto proved = prove(Proof::secret, secret, "agreement", name);
    return proved ? formatted("{}.{}", name, proved->substr(0, digits)) : name;
}

bool OtherRanks::take_next(Deadline deadline) {
    std::array entry{pollfd{listener_.fd(), POLLIN, 0}};
    if (poll_until(entry, deadline) == 0) return false;
    auto rank = accept_from(listener_);
    if (rank && is_own_users(*rank)) taken_.push_back(*std::move(rank));
    return true;
}

std::set<std::uint32_t> OtherRanks::ask(Deadline deadline) {
    asked_ = true;
    std::set<std::uint32_t> silent = ranks_;
    std::size_t asked = 0;  // of those taken
    while (!silent.empty() && Clock::now() < deadline) {
        for (; asked < taken_.size(); ++asked) {
            // A new connection's buffer takes a line at once.
            static_cast<void>(send_all(taken_[asked], formatted("{}\n", question), deadline));
        }
        std::vector<pollfd> waiting{{listener_.fd(), POLLIN, 0}};
        for (const Socket& rank : taken_) waiting.push_back({rank.fd(), POLLIN, 0});
        if (poll_until(waiting, deadline) <= 0) continue;
        for (std::size_t i = 0; i < taken_.size(); ++i) {
            if (waiting[i + 1].revents == 0) continue;
            const auto line = receive_line(taken_[i], longest_number, deadline);
            if (!line) taken_[i] = Socket();  // it has ended
            if (const auto rank = line ? whole_number(*line) : std::nullopt) {
                silent.erase(static_cast<std::uint32_t>(*rank));
            }
        }
        if (waiting.front().revents != 0) take_next(Clock::now());
    }
    return silent;
}

void OtherRanks::announce(int exit_status, Deadline deadline) {
    const std::string line = formatted("{}\n", exit_status);
    // Whoever else connects in a loop ends nothing but the time.
    while (!asked_ && taken_.size() < ranks_.size() && Clock::now() < deadline &&
           take_next(deadline)) {
    }
    for (const Socket& rank : taken_) {
        if (rank.is_open()) static_cast<void>(send_all(rank, line, Clock::now()));
    }
}

std::optional<int> await_verdict(const std::string& name, std::uint32_t rank, Deadline meeting,
                                 Deadline deadline) {
    while (Clock::now() < meeting) {
        if (const Socket connection = connect_by_name(name); connection.is_open()) {
            auto line = receive_line(connection, longest_number, deadline);
            if (line && *line == question &&
                send_all(connection, formatted("{}\n", rank), deadline)) {
                line = receive_line(connection, longest_number, deadline);
            }
            const auto status = line ? whole_number(*line) : std::nullopt;
            return status ? std::optional(static_cast<int>(*status)) : std::nullopt;
        }
        std::this_thread::sleep_for(20ms);
    }
    return std::nullopt;
}

}  // namespace distgpu
