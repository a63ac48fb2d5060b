// Whether a process could listen on a port of this machine now.
#pragma once

#include <cstdint>

namespace distgpu {

enum class PortState { free, taken, unknown };

// Binds a socket to the port on every address (IPv6 and IPv4; IPv4 alone where
// the machine has no IPv6), does not listen, and closes it. Sees listeners of
// either family on any address and is not misled by connections in TIME_WAIT.
// unknown: this machine gives no socket at all.
PortState check_port(std::uint16_t port);

}  // namespace distgpu
