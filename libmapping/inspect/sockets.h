// TCP connections of processes, and what moved over them, as the kernel's inet_diag tells
// (sock_diag(7)): it asks nothing of the processes and needs no rights.
#pragma once

#include "base/environment.h"
#include "inspect/node_sample.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

struct TcpConnection {
    Connection connection;
    std::uint16_t local_port = 0;
    std::uint16_t peer_port = 0;
    std::uint64_t bytes = 0;            // received, and sent and acknowledged
    std::chrono::milliseconds quiet{};  // since data last came or went; 0 if unknown

    bool operator==(const TcpConnection&) const = default;
};
using TcpConnections = std::map<std::uint64_t, TcpConnection>;  // by the socket's inode

// The established connections of this process's network namespace, up to 65,536. Empty if the
// kernel has no inet_diag; gives up after two seconds.
TcpConnections read_tcp_connections();

// Parses the messages of one answer of the kernel. Ignores what is not an inet_diag_msg of an
// established connection.
struct TcpAnswer {
    TcpConnections connections{};
    bool is_last = false;  // nothing follows: the end, an error, or a message of an odd length
};
TcpAnswer parse_tcp_answer(std::string_view messages);

// The ports over which a framework exchanges bytes all the time, whether or not its job progresses,
// by the variables of a process: torch's store, JAX's coordinator, Ray's head, NCCL's RAS.
std::set<std::uint16_t> background_ports(const Environment& environment);

struct ProcessSockets {
    std::vector<Connection> connections{};  // up to 16, those with the most queued bytes first
    // Over the connections of which neither port is a background port.
    std::uint64_t peer_bytes = 0;
    std::optional<double>
        quiet{};  // seconds since data last moved there; nullopt if there are none

    bool operator==(const ProcessSockets&) const = default;
};
ProcessSockets sockets_of(pid_t pid, const TcpConnections& all,
                          const std::set<std::uint16_t>& background);

}  // namespace distgpu
