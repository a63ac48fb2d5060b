#include "check/pairs/stream_limit.h"

#include <algorithm>
#include <cstddef>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <optional>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace distgpu {
namespace {

using std::chrono::microseconds;

// How long the receiver's window or the memory for unacknowledged data was the limit. nullopt if
// the kernel does not tell.
std::optional<microseconds> other_limits(int fd) {
    tcp_info info{};
    socklen_t length = sizeof info;
    constexpr std::size_t needed =
        offsetof(tcp_info, tcpi_sndbuf_limited) + sizeof info.tcpi_sndbuf_limited;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || length < needed) {
        return std::nullopt;
    }
    return microseconds(info.tcpi_rwnd_limited + info.tcpi_sndbuf_limited);
}

bool has_unsent_data(int fd) {
    int bytes = 0;
    return ioctl(fd, SIOCOUTQNSD, &bytes) == 0 && bytes > 0;
}

}  // namespace

StreamLimit::StreamLimit(int fd, Clock::time_point now)
    : start_(now),
      noted_(now),
      other_limits_at_start_(other_limits(fd).value_or(microseconds(0))) {}

void StreamLimit::note(int fd, bool has_room, Clock::time_point now) {
    // Only this program fills TCP, so it was as full all the time since the last call.
    if (!has_room || has_unsent_data(fd)) held_back_ += now - noted_;
    noted_ = now;
}

double StreamLimit::network_share(int fd, Clock::time_point now) const {
    const auto others = other_limits(fd);
    if (!others || now <= start_) return 0;
    const std::chrono::duration<double> by_network =
        held_back_ - (*others - other_limits_at_start_);
    return std::clamp(by_network / std::chrono::duration<double>(now - start_), 0.0, 1.0);
}

}  // namespace distgpu
