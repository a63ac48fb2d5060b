#include "base/io/socket.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr int stream_type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

// False if the deadline passes.
bool wait_for(const Socket& socket, short events, Deadline deadline) {
    for (;;) {
        std::array entry{pollfd{socket.fd(), events, 0}};
        const int ready = poll_until(entry, deadline);
        if (ready > 0) return true;
        if (ready == 0 || errno != EINTR) return false;
    }
}

bool set_option(const Socket& socket, int level, int option, int value) {
    return setsockopt(socket.fd(), level, option, &value, sizeof value) == 0;
}

// A socket bound to the port on every address of this machine, IPv6 and, through it, IPv4. On
// failure it is not open and errno says why. SO_REUSEADDR ignores connections in TIME_WAIT, but no
// listener; SO_REUSEPORT is not set, or two listeners of one user would both succeed.
Socket bind_all_addresses(std::uint16_t port) {
    static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
    for (const int family : {AF_INET6, AF_INET}) {
        sockaddr_in6 any{};  // all zero: every address
        any.sin6_family = static_cast<sa_family_t>(family);
        any.sin6_port = htons(port);
        const socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
        Socket bound(socket(family, stream_type, 0));
        if (!bound.is_open() || !set_option(bound, SOL_SOCKET, SO_REUSEADDR, 1) ||
            (family == AF_INET6 && !set_option(bound, IPPROTO_IPV6, IPV6_V6ONLY, 0))) {
            continue;
        }
        if (bind(bound.fd(), reinterpret_cast<const sockaddr*>(&any), length) == 0) return bound;
        if (errno == EADDRINUSE) break;  // with any other error this machine may have no IPv6
    }
    return {};
}

// An abstract name for bind(2) and connect(2): a zero byte, then as many bytes as the length says.
struct AbstractName {
    explicit AbstractName(std::string_view name) {
        address.sun_family = AF_UNIX;
        const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
        std::memcpy(&address.sun_path[1], name.data(), size);
        length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
    }
    const sockaddr* as_sockaddr() const { return reinterpret_cast<const sockaddr*>(&address); }

    sockaddr_un address{};
    socklen_t length = 0;
};

Error closed_error() {
    return {"connection", "closed by the other end", "see its messages"};
}

Error timeout_error() {
    return {"connection", "no answer in time", "check the process at the other end"};
}

}  // namespace

Result<Socket> listen_on(std::uint16_t port) {
    Socket listener = bind_all_addresses(port);
    if (listener.is_open() && listen(listener.fd(), SOMAXCONN) == 0) return listener;
    return Error{formatted("port {}", port), std::strerror(errno),
                 "choose another with the key port=N"};
}

bool is_port_taken(std::uint16_t port) {
    return !bind_all_addresses(port).is_open() && errno == EADDRINUSE;
}

std::uint16_t port_of(const Socket& socket) {
    sockaddr_storage name{};
    socklen_t length = sizeof name;
    getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&name), &length);
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &name, sizeof ipv4);
    return ntohs(ipv4.sin_port);  // same offset in sockaddr_in6
}

Result<Socket> connect_to(const std::string& host, std::uint16_t port, Deadline deadline) {
    const auto addresses = resolve(host, port, deadline);
    if (!addresses) return addresses.error();
    errno = ETIMEDOUT;
    for (const Address& address : *addresses) {
        Socket connection = connect_to(address, deadline);
        if (connection.is_open()) return connection;
    }
    return Error{host_and_port(host, port), std::strerror(errno),
                 "check that the node is up and that no firewall blocks the port"};
}

Socket connect_to(const Address& address, Deadline deadline) {
    Socket connection(socket(address.as_sockaddr()->sa_family, stream_type, 0));
    if (!connection.is_open()) return {};
    if (connect(connection.fd(), address.as_sockaddr(), address.length) == 0) return connection;
    int problem = errno;
    if (problem == EINPROGRESS) {
        socklen_t length = sizeof problem;
        problem = ETIMEDOUT;
        if (wait_for(connection, POLLOUT, deadline)) {
            getsockopt(connection.fd(), SOL_SOCKET, SO_ERROR, &problem, &length);
        }
    }
    if (problem == 0) return connection;
    connection = {};
    errno = problem;
    return {};
}

std::optional<Socket> accept_from(const Socket& listener) {
    Socket connection(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.is_open()) return std::nullopt;
    return connection;
}

Result<std::size_t> send_some(const Socket& socket, std::string_view text) {
    const ssize_t sent = send(socket.fd(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
    return closed_error();
}

Result<std::monostate> send_all(const Socket& socket, std::string_view text, Deadline deadline) {
    while (!text.empty()) {
        const auto sent = send_some(socket, text);
        if (!sent) return sent.error();
        text.remove_prefix(*sent);
        if (*sent == 0 && !wait_for(socket, POLLOUT, deadline)) return timeout_error();
    }
    return std::monostate{};
}

Result<std::string> receive_line(const Socket& socket, std::size_t max_size, Deadline deadline) {
    std::string line;
    std::array<char, 4096> buffer{};
    while (line.size() <= max_size) {
        if (!wait_for(socket, POLLIN, deadline)) return timeout_error();
        // Peeks first, so that what follows the line stays unread.
        const ssize_t available = recv(socket.fd(), buffer.data(), buffer.size(), MSG_PEEK);
        if (available < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (available <= 0) return closed_error();
        const std::string_view peeked(buffer.data(), static_cast<std::size_t>(available));
        const std::size_t end = peeked.find('\n');
        const std::size_t size = std::min(end, peeked.size() - 1) + 1;
        if (recv(socket.fd(), buffer.data(), size, 0) != static_cast<ssize_t>(size)) {
            return closed_error();
        }
        line.append(peeked.substr(0, end));
        if (end != std::string_view::npos && line.size() <= max_size) return line;
    }
    return Error{"connection", formatted("a line of more than {} bytes", max_size),
                 "check which program listens there"};
}

Socket listen_by_name(std::string_view name, int flags) {
    const AbstractName address(name);
    Socket listener(socket(AF_UNIX, SOCK_STREAM | flags, 0));
    const bool is_listening = bind(listener.fd(), address.as_sockaddr(), address.length) == 0 &&
                              listen(listener.fd(), SOMAXCONN) == 0;
    return is_listening ? std::move(listener) : Socket();
}

Socket connect_by_name(std::string_view name) {
    const AbstractName address(name);
    Socket connection(socket(AF_UNIX, stream_type, 0));
    const bool is_connected =
        connect(connection.fd(), address.as_sockaddr(), address.length) == 0 &&
        is_from_same_user(connection);
    return is_connected ? std::move(connection) : Socket();
}

bool is_from_same_user(const Socket& socket) {
    ucred peer{};
    socklen_t length = sizeof peer;
    return getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == geteuid();
}

}  // namespace distgpu
