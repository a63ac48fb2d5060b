#include "base/io/socket.h"

#include "base/format.h"
#include "base/io/resolve.h"
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

constexpr int kinds = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

// False: not by the deadline.
bool wait_for(const Socket& socket, short events, Deadline deadline) {
    for (;;) {
        std::array entry{pollfd{socket.fd(), events, 0}};
        const int ready = poll_until(entry, deadline);
        if (ready > 0) return true;
        if (ready == 0 || errno != EINTR) return false;
    }
}

bool set(const Socket& socket, int level, int option, int value) {
    return setsockopt(socket.fd(), level, option, &value, sizeof value) == 0;
}

// Bound to the port on every address of this machine, of IPv6 and, through it, IPv4; closed: errno
// says why not. SO_REUSEADDR passes over connections in TIME_WAIT but over no listener;
// SO_REUSEPORT is not set, or two listeners of one user would both succeed.
Socket bound_everywhere(std::uint16_t port) {
    static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
    for (const int family : {AF_INET6, AF_INET}) {
        sockaddr_in6 any{};  // all zero: every address
        any.sin6_family = static_cast<sa_family_t>(family);
        any.sin6_port = htons(port);
        const socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
        Socket bound(socket(family, kinds, 0));
        if (!bound.is_open() || !set(bound, SOL_SOCKET, SO_REUSEADDR, 1) ||
            (family == AF_INET6 && !set(bound, IPPROTO_IPV6, IPV6_V6ONLY, 0))) {
            continue;
        }
        if (bind(bound.fd(), reinterpret_cast<const sockaddr*>(&any), length) == 0) return bound;
        if (errno == EADDRINUSE) break;  // else this machine may have no IPv6
    }
    return {};
}

// 0, or errno.
int connect_socket(const Socket& socket, const Address& address, Deadline deadline) {
    if (connect(socket.fd(), address.generic(), address.length) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    if (!wait_for(socket, POLLOUT, deadline)) return ETIMEDOUT;
    int problem = 0;
    socklen_t length = sizeof problem;
    getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &problem, &length);
    return problem;
}

// As bind(2) and connect(2) take a name: it begins with a zero byte and ends where its length says.
struct AbstractName {
    explicit AbstractName(std::string_view name) {
        address.sun_family = AF_UNIX;
        const std::size_t size = std::min(name.size(), sizeof address.sun_path - 1);
        std::memcpy(&address.sun_path[1], name.data(), size);
        length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
    }
    const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&address); }

    sockaddr_un address{};
    socklen_t length = 0;
};

Error closed() {
    return {"connection", "closed by the other end", "see its messages"};
}

Error too_late() {
    return {"connection", "no answer in time", "check the process at the other end"};
}

}  // namespace

Result<Socket> listen_on(std::uint16_t port) {
    Socket listener = bound_everywhere(port);
    if (listener.is_open() && listen(listener.fd(), SOMAXCONN) == 0) return listener;
    return Error{formatted("port {}", port), std::strerror(errno),
                 "choose another with the key port=N"};
}

bool is_port_taken(std::uint16_t port) {
    return !bound_everywhere(port).is_open() && errno == EADDRINUSE;
}

std::uint16_t port_of(const Socket& socket) {
    sockaddr_storage name{};
    socklen_t length = sizeof name;
    getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&name), &length);
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &name, sizeof ipv4);
    return ntohs(ipv4.sin_port);  // at the same place in IPv6's
}

Result<Socket> connect_to(const std::string& host, std::uint16_t port, Deadline deadline) {
    const auto addresses = resolve(host, port, deadline);
    if (!addresses) return addresses.error();
    int problem = ETIMEDOUT;
    for (const Address& address : *addresses) {
        Socket connection(socket(address.generic()->sa_family, kinds, 0));
        problem = connection.is_open() ? connect_socket(connection, address, deadline) : errno;
        if (problem == 0) return connection;
    }
    return Error{host_and_port(host, port), std::strerror(problem),
                 "check that the node is up and that no firewall blocks the port"};
}

std::optional<Socket> accept_from(const Socket& listener) {
    Socket taken(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!taken.is_open()) return std::nullopt;
    return taken;
}

Result<std::size_t> send_some(const Socket& socket, std::string_view text) {
    const ssize_t sent = send(socket.fd(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
    return closed();
}

Result<std::monostate> send_all(const Socket& socket, std::string_view text, Deadline deadline) {
    while (!text.empty()) {
        const auto sent = send_some(socket, text);
        if (!sent) return sent.error();
        text.remove_prefix(*sent);
        if (*sent == 0 && !wait_for(socket, POLLOUT, deadline)) return too_late();
    }
    return std::monostate{};
}

Result<std::string> receive_line(const Socket& socket, std::size_t longest, Deadline deadline) {
    std::string line;
    std::array<char, 4096> piece{};
    while (line.size() <= longest) {
        if (!wait_for(socket, POLLIN, deadline)) return too_late();
        // Looks first, so that what follows the line stays with the connection.
        const ssize_t there = recv(socket.fd(), piece.data(), piece.size(), MSG_PEEK);
        if (there < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (there <= 0) return closed();
        const std::string_view seen(piece.data(), static_cast<std::size_t>(there));
        const std::size_t end = seen.find('\n');
        const std::size_t taken = std::min(end, seen.size() - 1) + 1;
        if (recv(socket.fd(), piece.data(), taken, 0) != static_cast<ssize_t>(taken)) {
            return closed();
        }
        line.append(seen.substr(0, end));
        if (end != std::string_view::npos && line.size() <= longest) return line;
    }
    return Error{"connection", formatted("a line of more than {} bytes", longest),
                 "check which program listens there"};
}

Socket listen_by_name(std::string_view name, int flags) {
    const AbstractName own(name);
    Socket listener(socket(AF_UNIX, SOCK_STREAM | flags, 0));
    const bool listens = bind(listener.fd(), own.generic(), own.length) == 0 &&
                         listen(listener.fd(), SOMAXCONN) == 0;
    return listens ? std::move(listener) : Socket();
}

Socket connect_by_name(std::string_view name) {
    const AbstractName other(name);
    Socket connection(socket(AF_UNIX, kinds, 0));
    const bool is_met =
        connect(connection.fd(), other.generic(), other.length) == 0 && is_own_users(connection);
    return is_met ? std::move(connection) : Socket();
}

bool is_own_users(const Socket& socket) {
    ucred peer{};
    socklen_t length = sizeof peer;
    return getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == geteuid();
}

}  // namespace distgpu
