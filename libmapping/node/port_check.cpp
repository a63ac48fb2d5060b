// SO_REUSEADDR passes over TIME_WAIT but not over a listener;
// SO_REUSEPORT is not set, or two listeners of one user would both succeed.
#include "node/port_check.h"

#include "base/io/unique_fd.h"

#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>

namespace distgpu {
namespace {

UniqueFd socket_of(int family) {
    return UniqueFd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

bool set(const UniqueFd& socket, int level, int option, int value) {
    return setsockopt(socket.fd(), level, option, &value, sizeof value) == 0;
}

template <class Address>
PortState try_bind(const UniqueFd& socket, const Address& address) {
    // The cast is the socket API's own way of passing an address family's structure.
    const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
    if (bind(socket.fd(), generic, sizeof address) == 0) return PortState::free;
    return errno == EADDRINUSE ? PortState::taken : PortState::unknown;
}

PortState check_ipv4(std::uint16_t port) {
    const UniqueFd socket = socket_of(AF_INET);
    if (!socket.is_open() || !set(socket, SOL_SOCKET, SO_REUSEADDR, 1)) return PortState::unknown;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    return try_bind(socket, address);
}

PortState check_dual_stack(std::uint16_t port) {
    const UniqueFd socket = socket_of(AF_INET6);
    if (!socket.is_open() || !set(socket, SOL_SOCKET, SO_REUSEADDR, 1) ||
        !set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0)) {
        return PortState::unknown;
    }
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = in6addr_any;
    return try_bind(socket, address);
}

}  // namespace

PortState check_port(std::uint16_t port) {
    const PortState state = check_dual_stack(port);
    return state == PortState::unknown ? check_ipv4(port) : state;
}

}  // namespace distgpu
