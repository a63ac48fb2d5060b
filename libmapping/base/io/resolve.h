// The addresses of a host.
#pragma once

#include "base/io/deadline.h"
#include "base/result.h"

#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace distgpu {

struct Address {
    sockaddr_storage bytes{};
    socklen_t length = 0;

    const sockaddr* generic() const;
    bool is_loopback() const;       // 127.0.0.0/8 or ::1
    std::string to_string() const;  // without the port
};

// As getaddrinfo(3) answers, which may block for long. `flags`: AI_...
struct HostAddresses {
    int problem = 0;                   // EAI_...; 0: none
    std::vector<Address> addresses{};  // with the port, in the order in which to try them
};
HostAddresses addresses_of(const std::string& host, std::uint16_t port, int flags);

// `host`: a name, an IPv4 or a bare IPv6 address. In the order in which to try them, with the port.
// Errors (object: host): it has none, or nobody said so by the deadline.
Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port,
                                     Deadline deadline);

}  // namespace distgpu
