// TCP connections each wait of which has an end, and the names of Unix sockets.
#pragma once

#include "base/io/descriptor.h"
#include "base/result.h"

#include <cstddef>
#include <string_view>
#include <sys/socket.h>
#include <variant>

namespace distgpu {

// A connection or a listener, non-blocking.
using Socket = UniqueFd;

// Listens on every address of this machine, IPv6 and IPv4. 0: a port that is free.
// Errors (object: "port N"): taken, or not allowed.
Result<Socket> listen_on(std::uint16_t port);

// Whether another process listens on this port of this machine, of IPv6 or IPv4, on any address.
// Connections in TIME_WAIT do not count. False where the machine gives no socket to find out.
bool is_port_taken(std::uint16_t port);

// The port that a socket has. Precondition: it listens or is connected.
std::uint16_t port_of(const Socket& socket);

// Tries the addresses of `host` one after the other.
// Errors (object: "host:port"): no address; what the last one answered; none by the deadline.
Result<Socket> connect_to(const std::string& host, std::uint16_t port, Deadline deadline);

// A connection that waits to be taken; nothing: none does.
std::optional<Socket> accept_from(const Socket& listener);

// How many bytes of the text the connection takes at once, which may be none.
// Errors (object: "connection"): closed by the other end.
Result<std::size_t> send_some(const Socket& socket, std::string_view text);

// Errors (object: "connection"): closed by the other end; not all taken by the deadline.
Result<std::monostate> send_all(const Socket& socket, std::string_view text, Deadline deadline);

// The text before the next '\n', which is read too, and what came behind it stays to be read.
// Errors (object: "connection"): closed or not complete by the deadline; longer than `longest`.
Result<std::string> receive_line(const Socket& socket, std::size_t longest, Deadline deadline);

// Unix sockets with a name that is in no file system and is gone with its socket: by it processes
// of one machine find each other, and the kernel tells whose process listens. Up to 107 bytes of
// `name` count.

// Closed: errno says why it cannot listen there. `flags`: of socket(2).
Socket listen_by_name(std::string_view name, int flags = SOCK_CLOEXEC | SOCK_NONBLOCK);

// Closed: no process of the effective user listens there.
Socket connect_by_name(std::string_view name);

// Whether the process at the other end has the effective user of this one.
bool is_own_users(const Socket& socket);

}  // namespace distgpu
