#include "base/io/resolve.h"

#include "base/format.h"

#include <array>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <utility>

namespace distgpu {
namespace {

Result<std::vector<Address>> look_up(const std::string& host, std::uint16_t port, int flags) {
    HostAddresses found = addresses_of(host, port, flags);
    if (found.problem == 0) return std::move(found.addresses);
    return Error{host, formatted("no address: {}", gai_strerror(found.problem)),
                 "check /etc/hosts and the name service of this node"};
}

}  // namespace

HostAddresses addresses_of(const std::string& host, std::uint16_t port, int flags) {
    addrinfo hints{};
    hints.ai_flags = flags;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string service = std::to_string(port);
    HostAddresses answer{getaddrinfo(host.c_str(), service.c_str(), &hints, &found)};
    if (answer.problem != 0) return answer;
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
        Address& address = answer.addresses.emplace_back();
        address.length = each->ai_addrlen;
        std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    }
    freeaddrinfo(found);
    return answer;
}

const sockaddr* Address::generic() const {
    // The socket API's own way of passing an address family's structure.
    return reinterpret_cast<const sockaddr*>(&bytes);
}

bool Address::is_loopback() const {
    if (bytes.ss_family == AF_INET) {
        sockaddr_in ipv4{};
        std::memcpy(&ipv4, &bytes, sizeof ipv4);
        return ntohl(ipv4.sin_addr.s_addr) >> 24U == IN_LOOPBACKNET;
    }
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &bytes, sizeof ipv6);
    return bytes.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&ipv6.sin6_addr);
}

std::string Address::to_string() const {
    std::array<char, NI_MAXHOST> text{};
    getnameinfo(generic(), length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    return text.data();
}

Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port,
                                     Deadline deadline) {
    if (auto numeric = look_up(host, port, AI_NUMERICHOST)) return numeric;
    auto found = within(deadline, [host, port] { return look_up(host, port, 0); });
    if (found) return *std::move(found);
    return Error{host, "the name service does not answer", "check /etc/resolv.conf on this node"};
}

}  // namespace distgpu
