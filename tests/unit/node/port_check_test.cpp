// Whether a port counts as taken, against real sockets of this machine.
#include "node/port_check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

// A TCP socket that closes itself.
class Tcp {
  public:
    explicit Tcp(int fd) : fd_(fd) {}
    Tcp(Tcp&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Tcp(const Tcp&) = delete;
    Tcp& operator=(const Tcp&) = delete;
    Tcp& operator=(Tcp&&) = delete;
    ~Tcp() { close(); }

    void close() {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    int fd() const { return fd_; }

  private:
    int fd_;
};

template <class Address>
sockaddr* generic(Address& address) {
    return reinterpret_cast<sockaddr*>(&address);
}

sockaddr_in ipv4(std::uint32_t host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(host);
    address.sin_port = htons(port);
    return address;
}

sockaddr_in6 ipv6(const in6_addr& host) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = host;
    return address;
}

void enable(const Tcp& socket, int level, int option) {
    constexpr int on = 1;
    ASSERT_EQ(setsockopt(socket.fd(), level, option, &on, sizeof(on)), 0);
}

// Binds to a port that the kernel chooses; 0 where the machine lacks the family.
template <class Address>
std::uint16_t bind_somewhere(const Tcp& socket, Address address) {
    if (socket.fd() < 0 || bind(socket.fd(), generic(address), sizeof(address)) != 0) return 0;
    socklen_t size = sizeof(address);
    if (getsockname(socket.fd(), generic(address), &size) != 0) return 0;
    // Both families have the port after the family.
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

template <class Address>
void expect_seen_while_listening(int family, const Address& address, int extra_option) {
    Tcp listener(socket(family, SOCK_STREAM, 0));
    if (family == AF_INET6 && listener.fd() >= 0) enable(listener, IPPROTO_IPV6, IPV6_V6ONLY);
    if (extra_option != 0) enable(listener, SOL_SOCKET, extra_option);
    const std::uint16_t port = bind_somewhere(listener, address);
    if (port == 0 && family == AF_INET6) GTEST_SKIP() << "this machine has no IPv6";
    ASSERT_NE(port, 0);
    ASSERT_EQ(listen(listener.fd(), 1), 0);
    EXPECT_EQ(check_port(port), PortState::taken);
    // The check itself leaves nothing behind.
    EXPECT_EQ(check_port(port), PortState::taken);
    listener.close();
    EXPECT_EQ(check_port(port), PortState::free);
}

TEST(CheckPort, SeesAListenerOnIpv4Loopback) {
    expect_seen_while_listening(AF_INET, ipv4(INADDR_LOOPBACK, 0), 0);
}

TEST(CheckPort, SeesAListenerOnAllIpv4Addresses) {
    expect_seen_while_listening(AF_INET, ipv4(INADDR_ANY, 0), 0);
}

TEST(CheckPort, SeesAListenerOnIpv6Loopback) {
    expect_seen_while_listening(AF_INET6, ipv6(in6addr_loopback), 0);
}

TEST(CheckPort, SeesAListenerOnAllIpv6AddressesAlone) {
    expect_seen_while_listening(AF_INET6, ipv6(in6addr_any), 0);
}

// As torch's TCPStore and most servers do.
TEST(CheckPort, SeesAListenerWithReuseAddr) {
    expect_seen_while_listening(AF_INET, ipv4(INADDR_ANY, 0), SO_REUSEADDR);
}

// Two of them would share the port, and the connections, silently.
TEST(CheckPort, SeesAListenerWithReusePort) {
    expect_seen_while_listening(AF_INET, ipv4(INADDR_ANY, 0), SO_REUSEPORT);
}

// A server that ended a moment ago left its port in TIME_WAIT: the next one,
// with SO_REUSEADDR, may listen there.
TEST(CheckPort, TimeWaitIsNotTaken) {
    Tcp listener(socket(AF_INET, SOCK_STREAM, 0));
    enable(listener, SOL_SOCKET, SO_REUSEADDR);
    const std::uint16_t port = bind_somewhere(listener, ipv4(INADDR_LOOPBACK, 0));
    ASSERT_NE(port, 0);
    ASSERT_EQ(listen(listener.fd(), 1), 0);
    Tcp client(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in server = ipv4(INADDR_LOOPBACK, port);
    ASSERT_EQ(connect(client.fd(), generic(server), sizeof(server)), 0);
    Tcp accepted(accept(listener.fd(), nullptr, nullptr));
    ASSERT_GE(accepted.fd(), 0);
    // The side that closes first is the one that waits.
    accepted.close();
    char byte = 0;
    ASSERT_EQ(read(client.fd(), &byte, 1), 0);
    client.close();
    listener.close();

    const Tcp naive(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in any = ipv4(INADDR_ANY, port);
    ASSERT_NE(bind(naive.fd(), generic(any), sizeof(any)), 0)
        << "no connection in TIME_WAIT: this test shows nothing";
    EXPECT_EQ(check_port(port), PortState::free);
}

}  // namespace
}  // namespace distgpu
