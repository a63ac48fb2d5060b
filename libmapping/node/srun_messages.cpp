#include "node/srun_messages.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/io/signal_block.h"
#include "base/values.h"
#include "mapping/texts/variables.h"
#include "node/step_variables.h"

#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <pthread.h>

namespace distgpu {
namespace {

constexpr std::size_t max_line_size = 4096;
constexpr std::size_t max_kind_size = 16;
constexpr std::string_view acknowledgment = "taken";

}  // namespace

void SrunListener::open(Environment& environment) {
    environment.unset(srun_port_variable);
    const auto token = draw_secret();
    auto listener = listen_on(0);
    wake_ = make_pipe();
    if (!token || !listener || !wake_.is_open()) return;
    listener_ = *std::move(listener);
    token_ = token->to_string();
    environment.set(srun_port_variable, formatted("{} {}", port_of(listener_), token_));
}

void SrunListener::start(std::unique_ptr<MessageReceiver> receiver, std::size_t max_lines) {
    if (!listener_.is_open()) return;
    receiver_ = std::move(receiver);
    max_lines_ = max_lines;
    // srun has a thread for its signals; no other thread may receive them.
    const SignalBlock block;
    thread_ = std::thread([this] { run(); });
}

void SrunListener::finish() {
    if (!is_started()) return;
    wake_.write = UniqueFd();
    thread_.join();
    listener_ = Socket();
}

void SrunListener::run() {
    Deadline next = receiver_->act(Clock::now(), false);
    bool is_step_over = false;
    while (!is_step_over) {
        std::array<pollfd, 2> waiting{pollfd{listener_.fd(), POLLIN, 0},
                                      pollfd{wake_.read.fd(), POLLIN, 0}};
        poll_until(waiting, next);
        // The messages that have arrived by now belong to the step.
        is_step_over = waiting[1].revents != 0;
        while (const auto connection = accept_from(listener_)) receive_from(*connection);
        next = receiver_->act(Clock::now(), is_step_over);
    }
}

// Ignores a sender that is not a node of the step; the deadline keeps it from delaying the others.
void SrunListener::receive_from(const Socket& connection) {
    const Deadline deadline = Clock::now() + std::chrono::milliseconds(500);
    const auto head = receive_line(connection, token_.size() + max_kind_size + 8, deadline);
    if (!head) return;
    std::string_view rest = *head;
    if (cut_until(rest, ' ') != token_) return;
    NodeMessage message{std::string(cut_until(rest, ' ')), {}};
    const auto count = number_below(rest, max_lines_ + 1);
    if (!count) return;
    while (message.lines.size() < *count) {
        const auto line = receive_line(connection, max_line_size, deadline);
        if (!line) return;
        message.lines.push_back(printable(*line));
    }
    if (receiver_->receive(std::move(message))) {
        static_cast<void>(send_all(connection, formatted("{}\n", acknowledgment), deadline));
    }
}

std::optional<SrunAddress> read_srun_address(const Environment& step) {
    const std::string where = step.text(srun_port_variable);
    // Set by slurmd to the address from which srun reached it.
    const std::string host = step.text("SLURM_SRUN_COMM_HOST");
    std::string_view token = where;
    const auto port = number_below(cut_until(token, ' '), std::size_t{1} << 16U);
    if (!port || *port == 0) return std::nullopt;
    SrunAddress srun{{}, std::string(token)};
    sockaddr_in ipv4{};
    sockaddr_in6 ipv6{};
    ipv4.sin_family = AF_INET;
    ipv6.sin6_family = AF_INET6;
    ipv4.sin_port = ipv6.sin6_port = htons(static_cast<std::uint16_t>(*port));
    if (inet_pton(AF_INET, host.c_str(), &ipv4.sin_addr) == 1) {
        std::memcpy(&srun.address.bytes, &ipv4, srun.address.length = sizeof ipv4);
    } else if (inet_pton(AF_INET6, host.c_str(), &ipv6.sin6_addr) == 1) {
        std::memcpy(&srun.address.bytes, &ipv6, srun.address.length = sizeof ipv6);
    } else {
        return std::nullopt;
    }
    return srun;
}

bool send_to_srun(const SrunAddress& srun, const NodeMessage& message) {
    const Deadline deadline = Clock::now() + std::chrono::seconds(2);
    const Socket connection = connect_to(srun.address, deadline);
    if (!connection.is_open()) return false;
    std::string text = formatted("{} {} {}\n", srun.token, message.kind, message.lines.size());
    for (const std::string& line : message.lines) text += line + '\n';
    if (!send_all(connection, text, deadline)) return false;
    const auto answer = receive_line(connection, acknowledgment.size(), deadline);
    return answer && *answer == acknowledgment;
}

}  // namespace distgpu
