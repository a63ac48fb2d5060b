#include "exec/control.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_line = 4096;

constexpr std::array<std::pair<Message::Kind, std::string_view>, 5> words{{
    {Message::Kind::up, "up"},
    {Message::Kind::start, "start"},
    {Message::Kind::ended, "ended"},
    {Message::Kind::stop, "stop"},
    {Message::Kind::end, "end"},
}};

std::string line_of(const Message& message) {
    const auto word = std::find_if(words.begin(), words.end(),
                                   [&](const auto& each) { return each.first == message.kind; });
    return formatted("{} {} {}\n", word->second, message.number, message.text);
}

std::optional<Message> message_in(std::string_view line) {
    constexpr std::size_t most = 256;
    const std::size_t first = std::min(line.find(' '), line.size());
    const std::size_t second = std::min(line.find(' ', first + 1), line.size());
    const auto word = std::find_if(words.begin(), words.end(), [&](const auto& each) {
        return each.second == line.substr(0, first);
    });
    if (word == words.end() || second == line.size()) return std::nullopt;
    const auto number = number_below(line.substr(first + 1, second - first - 1), most);
    if (!number) return std::nullopt;
    return Message{word->first, static_cast<int>(*number), std::string(line.substr(second + 1))};
}

// A node that is gone without a word is noticed after about a minute.
void watch(const Socket& socket) {
    const auto set = [&](int level, int option, int value) {
        setsockopt(socket.fd(), level, option, &value, sizeof value);
    };
    constexpr int patience = 60;
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, patience * 1000);
}

}  // namespace

std::vector<Message> Peer::receive() {
    std::vector<Message> messages;
    std::array<char, longest_line> piece{};
    const ssize_t got = recv(socket_.fd(), piece.data(), piece.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return messages;
    if (got > 0) received_.append(piece.data(), static_cast<std::size_t>(got));
    bool sound = got > 0;
    for (std::size_t end = 0; sound && (end = received_.find('\n')) != std::string::npos;) {
        auto message = message_in(std::string_view(received_).substr(0, end));
        received_.erase(0, end + 1);
        sound = message.has_value();
        if (message) messages.push_back(*std::move(message));
    }
    if (!sound || received_.size() > longest_line) {
        socket_ = Socket();
        messages.push_back({Message::Kind::lost});
    }
    return messages;
}

void Peer::send(const Message& message) {
    // A node that takes nothing any more is found out by its connection's end.
    if (is_open()) static_cast<void>(send_all(socket_, line_of(message), Clock::now() + 1s));
}

Result<Peer> reach_head(const ControlledStep& step, std::uint32_t node) {
    const Deadline deadline = Clock::now() + 1s;
    return reach(step.meeting, step.head, step.port, deadline)
        .and_then([&](Invitation head) {
            return introduce(std::move(head), step.meeting, formatted("{}", node), deadline);
        })
        .transform([](Invitation head) {
            watch(head.socket);
            return Peer(std::move(head.socket));
        });
}

Result<Head> Head::listen(const ControlledStep& step) {
    return listen_on(step.port).transform(
        [&](Socket listener) { return Head(std::move(listener), step); });
}

void Head::add_to(std::vector<pollfd>& waiting) const {
    waiting.push_back({listener_.fd(), POLLIN, 0});
    host_.add_to(waiting);
}

std::vector<std::pair<std::uint32_t, Peer>> Head::take() {
    static_cast<void>(host_.greet(listener_));
    std::vector<std::pair<std::uint32_t, Peer>> joined;
    for (Guest& guest : host_.introduced()) {
        const auto node = number_below(guest.text, nodes_);
        if (!node || *node == 0 || !host_.welcome(guest)) continue;
        watch(guest.socket);
        joined.emplace_back(*node, std::move(guest.socket));
    }
    return joined;
}

}  // namespace distgpu
