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

constexpr std::size_t longest_line = 4096;

// By Message::Kind.
constexpr EnumWords<Message::Kind> words{{"up", "start", "ended", "stop", "end"}};

std::optional<Message> message_in(std::string_view line) {
    constexpr std::size_t most = 256;
    const std::size_t first = std::min(line.find(' '), line.size());
    const std::size_t second = std::min(line.find(' ', first + 1), line.size());
    const auto kind = words.value_of(line.substr(0, first));
    if (!kind || second == line.size()) return std::nullopt;
    const auto number = number_below(line.substr(first + 1, second - first - 1), most);
    if (!number) return std::nullopt;
    return Message{*kind, static_cast<int>(*number), std::string(line.substr(second + 1))};
}

// So that a node which vanished is noticed after about a minute.
void watch(const Socket& socket) {
    constexpr int on = 1;
    setsockopt(socket.fd(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    for (const auto& [option, value] :
         {std::pair(TCP_KEEPIDLE, 15), std::pair(TCP_KEEPINTVL, 15), std::pair(TCP_KEEPCNT, 3),
          std::pair(TCP_USER_TIMEOUT, 60'000)}) {
        setsockopt(socket.fd(), IPPROTO_TCP, option, &value, sizeof value);
    }
}

}  // namespace

std::optional<Error> Nodes::open() {
    if (count() == 1) return std::nullopt;
    auto listener = listen_on(step_.port);
    if (!listener) return listener.error();
    listener_ = *std::move(listener);
    host_.emplace(step_.meeting);
    return std::nullopt;
}

std::optional<Proof> Nodes::proof() const {
    return host_ ? std::optional(host_->proof()) : std::nullopt;
}

std::optional<Error> Nodes::reach() {
    const Deadline deadline = Clock::now() + 1s;
    auto head = distgpu::reach(step_.meeting, step_.head, step_.port, deadline)
                    .and_then([&](Invitation invitation) {
                        return introduce(std::move(invitation), step_.meeting,
                                         std::to_string(step_.own), deadline);
                    });
    if (!head) return head.error();
    watch(head->socket);
    peers_.emplace(0, Peer{std::move(head->socket)});
    return std::nullopt;
}

void Nodes::add_to(std::vector<pollfd>& waiting) const {
    if (host_) {
        waiting.push_back({listener_.fd(), POLLIN, 0});
        host_->add_to(waiting);
    }
    for (const auto& [node, peer] : peers_) waiting.push_back({peer.socket.fd(), POLLIN, 0});
}

std::vector<std::uint32_t> Nodes::greet() {
    std::vector<std::uint32_t> joined;
    if (!host_) return joined;
    static_cast<void>(host_->greet(listener_));
    for (Guest& guest : host_->introduced()) {
        const auto node = number_below(guest.text, count());
        if (!node || *node == 0 || !host_->welcome(guest)) continue;
        watch(guest.socket);
        if (peers_.emplace(*node, Peer{std::move(guest.socket)}).second) joined.push_back(*node);
    }
    return joined;
}

std::vector<std::pair<std::uint32_t, Message>> Nodes::hear() {
    std::vector<std::pair<std::uint32_t, Message>> heard;
    for (auto& [node, peer] : peers_) {
        if (!peer.socket.is_open()) continue;
        std::array<char, longest_line> piece{};
        const ssize_t got = recv(peer.socket.fd(), piece.data(), piece.size(), 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got > 0) peer.received.append(piece.data(), static_cast<std::size_t>(got));
        bool sound = got > 0;
        for (std::size_t end = 0; sound && (end = peer.received.find('\n')) != std::string::npos;) {
            auto message = message_in(std::string_view(peer.received).substr(0, end));
            peer.received.erase(0, end + 1);
            sound = message.has_value();
            if (message) heard.emplace_back(node, *std::move(message));
        }
        if (sound && peer.received.size() <= longest_line) continue;
        peer.socket = Socket();
        heard.emplace_back(node, Message{Message::Kind::lost});
    }
    return heard;
}

void Nodes::tell(std::uint32_t node, const Message& message) {
    const Socket& socket = peers_.at(node).socket;
    if (!socket.is_open()) return;
    const std::string line =
        formatted("{} {} {}\n", words.word_of(message.kind), message.number, message.text);
    // If the node takes nothing any more, hear() finds its connection broken.
    static_cast<void>(send_all(socket, line, Clock::now() + 1s));
}

void Nodes::tell_all(const Message& message) {
    for (const auto& [node, peer] : peers_) tell(node, message);
}

template <typename Known>
std::string Nodes::names_without(const Known& known) const {
    std::vector<std::string> names;
    for (std::uint32_t node = 1; node < count(); ++node) {
        if (!known.contains(node)) names.push_back(name(node));
    }
    constexpr std::size_t most = 8;
    const std::size_t left_out = names.size() - std::min(names.size(), most);
    names.resize(names.size() - left_out);
    return join(names, ", ") + (left_out == 0 ? "" : formatted(" and {} more", left_out));
}

std::string Nodes::missing() const {
    return names_without(up_);
}

std::string Nodes::absent() const {
    return names_without(peers_);
}

}  // namespace distgpu
