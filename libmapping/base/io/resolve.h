// Looks up the addresses of a host, with a deadline.
#pragma once

#include "base/io/descriptor.h"
#include "base/result.h"

#include <netdb.h>
#include <sys/socket.h>
#include <vector>

namespace distgpu {

struct Address {
    sockaddr_storage bytes{};
    socklen_t length = 0;

    const sockaddr* as_sockaddr() const;
    bool is_loopback() const;       // 127.0.0.0/8 or ::1
    std::string to_string() const;  // without the port
};

// The addresses of `host`, a name, an IPv4 or a bare IPv6 address, with the port, in the order in
// which to try them.
// Errors (object: host): it has none, or the name service did not answer by the deadline.
Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port,
                                     Deadline deadline);

// How long the start of a step waits for the name service.
inline constexpr std::chrono::seconds name_lookup_timeout{1};

// The result of getaddrinfo(3).
struct NameLookup {
    int problem = EAI_AGAIN;           // EAI_...; 0 if there are addresses
    std::vector<Address> addresses{};  // in the order in which to try them

    // There is no such name, or it has no address.
    bool is_unknown() const;
    // The name service failed, or did not answer by the deadline.
    bool is_unanswered() const { return problem != 0 && !is_unknown(); }
};

// For slurmstepd, where a name service that does not answer must not cost much time and must not
// leave a waiting thread behind. Returns up to 16 addresses, with port 0. `host`: a name, an IPv4
// or a bare IPv6 address. A name is looked up by a child process, which is killed at the deadline.
NameLookup look_up_name(const std::string& host, Deadline deadline);

}  // namespace distgpu
