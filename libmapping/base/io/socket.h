// TCP connections each wait of which has an end.
#pragma once

#include "base/io/deadline.h"
#include "base/io/unique_fd.h"
#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace distgpu {

// A connection or a listener, non-blocking.
using Socket = UniqueFd;

// Listens on every address of this machine, IPv6 and IPv4. 0: a port that is free.
// Errors (object: "port N"): taken, or not allowed.
Result<Socket> listen_on(std::uint16_t port);

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

}  // namespace distgpu
