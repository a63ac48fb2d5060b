// The connections between the nodes of a step.
#include "base/format.h"
#include "base/values.h"
#include "exec/supervise.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string_view>
#include <sys/socket.h>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t max_line = 4096;

// In the order of Message::Kind.
constexpr EnumNames<Message::Kind> kind_names{{"up", "start", "ended", "stop", "end"}};

std::optional<Message> parse_message(std::string_view line) {
    constexpr std::size_t max_number = 256;
    const std::size_t first = std::min(line.find(' '), line.size());
    const std::size_t second = std::min(line.find(' ', first + 1), line.size());
    const auto kind = kind_names.value_of(line.substr(0, first));
    if (!kind || second == line.size()) return std::nullopt;
    const auto number = number_below(line.substr(first + 1, second - first - 1), max_number);
    if (!number) return std::nullopt;
    return Message{*kind, static_cast<int>(*number), std::string(line.substr(second + 1))};
}

// So that the loss of a node is noticed after about a minute.
void enable_keepalive(const Socket& socket) {
    constexpr int on = 1;
    setsockopt(socket.fd(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    for (const auto& [option, value] :
         {std::pair(TCP_KEEPIDLE, 15), std::pair(TCP_KEEPINTVL, 15), std::pair(TCP_KEEPCNT, 3),
          std::pair(TCP_USER_TIMEOUT, 60'000)}) {
        setsockopt(socket.fd(), IPPROTO_TCP, option, &value, sizeof value);
    }
}

}  // namespace

std::optional<Error> NodeConnections::listen() {
    if (count() == 1) return std::nullopt;
    auto listener = listen_on(step_.port);
    if (!listener) return listener.error();
    listener_ = *std::move(listener);
    server_.emplace(step_.handshake);
    return std::nullopt;
}

std::optional<Proof> NodeConnections::proof() const {
    return server_ ? std::optional(server_->proof()) : std::nullopt;
}

std::optional<Error> NodeConnections::connect_to_head() {
    const Deadline deadline = Clock::now() + 1s;
    auto head = distgpu::connect_to_server(step_.handshake, step_.head, step_.port, deadline)
                    .and_then([&](ServerConnection connection) {
                        return authenticate(std::move(connection), step_.handshake,
                                            std::to_string(step_.own_node), deadline);
                    });
    if (!head) return head.error();
    enable_keepalive(head->socket);
    peers_.emplace(0, Peer{std::move(head->socket)});
    return std::nullopt;
}

void NodeConnections::add_to(std::vector<pollfd>& waiting) const {
    if (server_) {
        waiting.push_back({listener_.fd(), POLLIN, 0});
        server_->add_to(waiting);
    }
    for (const auto& [node, peer] : peers_) waiting.push_back({peer.socket.fd(), POLLIN, 0});
}

std::vector<std::uint32_t> NodeConnections::accept_nodes() {
    std::vector<std::uint32_t> joined;
    if (!server_) return joined;
    static_cast<void>(server_->accept_clients(listener_));
    for (VerifiedClient& client : server_->verified_clients()) {
        const auto node = number_below(client.text, count());
        if (!node || *node == 0 || !server_->send_welcome(client)) continue;
        enable_keepalive(client.socket);
        if (peers_.emplace(*node, Peer{std::move(client.socket)}).second) joined.push_back(*node);
    }
    return joined;
}

std::vector<std::pair<std::uint32_t, Message>> NodeConnections::receive() {
    std::vector<std::pair<std::uint32_t, Message>> messages;
    for (auto& [node, peer] : peers_) {
        if (!peer.socket.is_open()) continue;
        std::array<char, max_line> piece{};
        const ssize_t got = recv(peer.socket.fd(), piece.data(), piece.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got > 0) peer.received.append(piece.data(), static_cast<std::size_t>(got));
        bool is_valid = got > 0;
        for (std::size_t end = 0;
             is_valid && (end = peer.received.find('\n')) != std::string::npos;) {
            auto message = parse_message(std::string_view(peer.received).substr(0, end));
            peer.received.erase(0, end + 1);
            is_valid = message.has_value();
            if (message) messages.emplace_back(node, *std::move(message));
        }
        if (is_valid && peer.received.size() <= max_line) continue;
        peer.socket = Socket();
        messages.emplace_back(node, Message{Message::Kind::lost});
    }
    return messages;
}

void NodeConnections::send(std::uint32_t node, const Message& message) {
    const Socket& socket = peers_.at(node).socket;
    if (!socket.is_open()) return;
    const std::string line =
        formatted("{} {} {}\n", kind_names.name_of(message.kind), message.number, message.text);
    // If the node reads no more, receive() finds its connection broken.
    static_cast<void>(send_all(socket, line, Clock::now() + 1s));
}

void NodeConnections::send_to_all(const Message& message) {
    for (const auto& [node, peer] : peers_) send(node, message);
}

template <typename Known>
std::string NodeConnections::names_without(const Known& known) const {
    std::vector<std::string> names;
    for (std::uint32_t node = 1; node < count(); ++node) {
        if (!known.contains(node)) names.push_back(name(node));
    }
    constexpr std::size_t max_names = 8;
    const std::size_t omitted = names.size() - std::min(names.size(), max_names);
    names.resize(names.size() - omitted);
    return join(names, ", ") + (omitted == 0 ? "" : formatted(" and {} more", omitted));
}

std::string NodeConnections::names_not_ready() const {
    return names_without(ready_);
}

std::string NodeConnections::names_not_connected() const {
    return names_without(peers_);
}

}  // namespace distgpu
