#include "check/pairs/incoming.h"

#include "check/pairs/node_trial.h"
#include "check/pairs/outgoing.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <sys/socket.h>

namespace distgpu {

void Incoming::serve(const Named& named) {
    std::array<char, std::size_t{256} << 10U> buffer;  // NOLINT(*-member-init): recv() fills it
    const ssize_t got = recv(socket_.fd(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        socket_ = Socket();
        return;
    }
    std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    if (!node_ && !read_greeting(text, named)) return;
    while (!text.empty() && answered_ < round_trips) {
        send(socket_.fd(), "!", 1, MSG_NOSIGNAL);
        ++answered_;
        text.remove_prefix(1);
    }
    if (!text.empty()) count(text.size());
}

std::optional<HeardFrom> Incoming::result() const {
    if (!node_ || answered_ < round_trips) return std::nullopt;
    const double seconds = std::chrono::duration<double>(stream_ - uncounted()).count();
    return HeardFrom{*node_, static_cast<double>(counted_) / seconds};
}

// Leaves in `text` what follows the greeting. False: it is not complete, or not a partner's.
bool Incoming::read_greeting(std::string_view& text, const Named& named) {
    const std::size_t end = text.find('\n');
    greeting_ += text.substr(0, std::min(end, longest_greeting));
    if (end == std::string_view::npos) {
        if (greeting_.size() > longest_greeting) socket_ = Socket();
        return false;
    }
    text.remove_prefix(end + 1);
    node_ = named(greeting_);
    if (!node_) socket_ = Socket();
    return node_.has_value();
}

void Incoming::count(std::size_t bytes) {
    const auto now = Clock::now();
    if (!first_) first_ = now;
    const auto since = now - *first_;
    if (since >= uncounted() && since <= stream_) counted_ += bytes;
}

}  // namespace distgpu
