#include "meet/node_link.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

namespace distgpu {

std::optional<std::pair<NodeLink, NodeLink>> NodeLink::within_process() {
    std::array<int, 2> ends{};
    constexpr int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    if (socketpair(AF_UNIX, kind, 0, ends.data()) != 0) return std::nullopt;
    return std::pair(NodeLink(Socket(ends[0]), Proof::none, std::nullopt, ""),
                     NodeLink(Socket(ends[1]), Proof::none, std::nullopt, ""));
}

bool NodeLink::send(std::string_view line, Deadline deadline) {
    const auto text = prove(proof_, secret_, challenge_, line);
    if (is_open() && text && send_all(socket_, *text + "\n", deadline)) return true;
    socket_ = Socket();
    return false;
}

void NodeLink::take_arrived() {
    std::array<char, 4096> piece{};
    const ssize_t got = recv(socket_.fd(), piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0) arrived_.append(piece.data(), static_cast<std::size_t>(got));
    if (got <= 0 || arrived_.size() > longest_proven_line) socket_ = Socket();
}

std::optional<std::string> NodeLink::next_line() {
    const std::size_t end = arrived_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    auto line = proven(proof_, secret_, challenge_, std::string_view(arrived_).substr(0, end));
    arrived_.erase(0, end + 1);
    if (!line) socket_ = Socket();
    return line;
}

std::optional<std::string> NodeLink::wait_for_line(Deadline deadline) {
    for (;;) {
        if (auto line = next_line()) return line;
        if (!is_open()) return std::nullopt;
        std::array entry{pollfd{fd(), POLLIN, 0}};
        const int ready = poll_until(entry, deadline);
        if (ready == 0) return std::nullopt;
        if (ready > 0) take_arrived();
    }
}

}  // namespace distgpu
