#include "meet/verdict_socket.h"

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
constexpr std::size_t max_line = 10;  // a rank, an exit status, or the question

}  // namespace

std::string verdict_socket_name(const std::string& step, std::uint32_t node,
                                const std::optional<Secret>& secret) {
    std::string name = formatted("distgpu.{}.{}.{}", geteuid(), step, node);
    if (!secret) return name;
    // Only the tag's beginning, because a name has at most 107 bytes.
    constexpr std::size_t digits = 32;
    const auto signed_name = sign_line(Proof::secret, secret, "agreement", name);
    return signed_name ? formatted("{}.{}", name, signed_name->substr(0, digits)) : name;
}

bool OtherLocalRanks::accept_next(Deadline deadline) {
    std::array entry{pollfd{listener_.fd(), POLLIN, 0}};
    if (poll_until(entry, deadline) == 0) return false;
    auto rank = accept_from(listener_);
    if (rank && is_from_same_user(*rank)) connections_.push_back(*std::move(rank));
    return true;
}

std::set<std::uint32_t> OtherLocalRanks::find_silent(Deadline deadline) {
    asked_ = true;
    std::set<std::uint32_t> silent = ranks_;
    std::size_t asked = 0;  // how many of connections_ were asked
    while (!silent.empty() && Clock::now() < deadline) {
        for (; asked < connections_.size(); ++asked) {
            // Does not block: a line fits into the buffer of a new connection.
            static_cast<void>(send_all(connections_[asked], formatted("{}\n", question), deadline));
        }
        std::vector<pollfd> waiting{{listener_.fd(), POLLIN, 0}};
        for (const Socket& rank : connections_) waiting.push_back({rank.fd(), POLLIN, 0});
        if (poll_until(waiting, deadline) <= 0) continue;
        for (std::size_t i = 0; i < connections_.size(); ++i) {
            if (waiting[i + 1].revents == 0) continue;
            const auto line = receive_line(connections_[i], max_line, deadline);
            if (!line) connections_[i] = Socket();  // the rank has ended
            if (const auto rank = line ? whole_number(*line) : std::nullopt) {
                silent.erase(static_cast<std::uint32_t>(*rank));
            }
        }
        if (waiting.front().revents != 0) accept_next(Clock::now());
    }
    return silent;
}

void OtherLocalRanks::send_verdict(int exit_status, Deadline deadline) {
    const std::string line = formatted("{}\n", exit_status);
    // The check of the clock ends this even if other processes connect again and again.
    while (!asked_ && connections_.size() < ranks_.size() && Clock::now() < deadline &&
           accept_next(deadline)) {
    }
    for (const Socket& rank : connections_) {
        if (rank.is_open()) static_cast<void>(send_all(rank, line, Clock::now()));
    }
}

std::optional<int> await_verdict(const std::string& name, std::uint32_t rank,
                                 Deadline listen_deadline, Deadline deadline) {
    while (Clock::now() < listen_deadline) {
        if (const Socket connection = connect_by_name(name); connection.is_open()) {
            auto line = receive_line(connection, max_line, deadline);
            if (line && *line == question &&
                send_all(connection, formatted("{}\n", rank), deadline)) {
                line = receive_line(connection, max_line, deadline);
            }
            const auto status = line ? whole_number(*line) : std::nullopt;
            return status ? std::optional(static_cast<int>(*status)) : std::nullopt;
        }
        std::this_thread::sleep_for(20ms);
    }
    return std::nullopt;
}

}  // namespace distgpu
