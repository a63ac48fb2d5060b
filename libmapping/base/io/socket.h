// TCP connections, where every wait has a deadline, and named Unix sockets.
#pragma once

#include "base/io/descriptor.h"
#include "base/io/resolve.h"
#include "base/result.h"

#include <cstddef>
#include <string_view>
#include <sys/socket.h>
#include <variant>

namespace distgpu {

// A connection or a listener, non-blocking.
using Socket = UniqueFd;

// Listens on every address of this machine, IPv6 and IPv4. Port 0 picks a free one.
// Errors (object: "port N"): in use, or not allowed.
Result<Socket> listen_on(std::uint16_t port);

// Whether another process listens on this port of this machine, IPv6 or IPv4, on any address.
// Connections in TIME_WAIT do not count. False if no socket can be made to find out.
bool is_port_taken(std::uint16_t port);

// The local port of a socket. Precondition: it listens or is connected.
std::uint16_t port_of(const Socket& socket);

// Tries the addresses of `host` one after the other.
// Errors (object: "host:port"): no address; the error of the last one; no answer by the deadline.
Result<Socket> connect_to(const std::string& host, std::uint16_t port, Deadline deadline);

// The same for one address. On failure the socket is not open and errno says why.
Socket connect_to(const Address& address, Deadline deadline);

// Accepts a pending connection; nullopt if there is none.
std::optional<Socket> accept_from(const Socket& listener);

// Sends without waiting. Returns the number of bytes that were sent, which may be 0.
// Errors (object: "connection"): closed by the other end.
Result<std::size_t> send_some(const Socket& socket, std::string_view text);

// Errors (object: "connection"): closed by the other end; not all sent by the deadline.
Result<std::monostate> send_all(const Socket& socket, std::string_view text, Deadline deadline);

// Reads up to the next '\n' and returns the text before it; what follows stays unread.
// Errors (object: "connection"): closed or not complete by the deadline; longer than `max_size`.
Result<std::string> receive_line(const Socket& socket, std::size_t max_size, Deadline deadline);

// Unix sockets in the abstract namespace: their names are in no file system and vanish with the
// socket. Processes of one machine find each other by them, and the kernel tells the user of the
// process at the other end. Only the first 107 bytes of `name` count.

// On failure the socket is not open and errno says why. `flags`: of socket(2).
Socket listen_by_name(std::string_view name, int flags = SOCK_CLOEXEC | SOCK_NONBLOCK);

// Not open if no process of the effective user listens there.
Socket connect_by_name(std::string_view name);

// Whether the process at the other end has the effective user of this process.
bool is_from_same_user(const Socket& socket);

}  // namespace distgpu
