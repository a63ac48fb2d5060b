#include "node/network_interface.h"

#include "base/format.h"
#include "base/io/name_lookup.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace distgpu {
namespace {

using Interfaces = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

Interfaces all_interfaces() {
    ifaddrs* found = nullptr;
    if (getifaddrs(&found) != 0) found = nullptr;
    return {found, freeifaddrs};
}

bool same_address(const sockaddr& left, const sockaddr& right) {
    if (left.sa_family != right.sa_family) return false;
    if (left.sa_family == AF_INET) {
        sockaddr_in a{};
        sockaddr_in b{};
        std::memcpy(&a, &left, sizeof a);
        std::memcpy(&b, &right, sizeof b);
        return a.sin_addr.s_addr == b.sin_addr.s_addr;
    }
    if (left.sa_family != AF_INET6) return false;
    sockaddr_in6 a{};
    sockaddr_in6 b{};
    std::memcpy(&a, &left, sizeof a);
    std::memcpy(&b, &right, sizeof b);
    return std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
}

std::string to_text(const sockaddr& address, socklen_t length) {
    std::array<char, NI_MAXHOST> text{};
    getnameinfo(&address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    return text.data();
}

bool is_link_local(const sockaddr& address) {
    sockaddr_in6 ipv6{};
    if (address.sa_family != AF_INET6) return false;
    std::memcpy(&ipv6, &address, sizeof ipv6);
    return IN6_IS_ADDR_LINKLOCAL(&ipv6.sin6_addr);
}

}  // namespace

bool is_ip_address(const std::string& text) {
    in6_addr address{};  // holds an in_addr too
    return inet_pton(AF_INET, text.c_str(), &address) == 1 ||
           inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

NetworkInterface interface_of(const std::string& address, Deadline deadline) {
    const NameLookup lookup = look_up_name(address, deadline);
    NetworkInterface result;
    result.unanswered = lookup.outcome == NameLookup::Outcome::unanswered;
    const Interfaces interfaces = all_interfaces();
    for (const Address& own : lookup.addresses) {
        // The whole of 127.0.0.0/8 is the loopback's, although it may list 127.0.0.1 alone.
        if (own.is_loopback()) {
            result.loopback = own.to_string();
            continue;
        }
        for (const ifaddrs* each = interfaces.get(); each != nullptr; each = each->ifa_next) {
            if (each->ifa_addr != nullptr && same_address(*each->ifa_addr, *own.generic())) {
                return {each->ifa_name, {}};
            }
        }
    }
    return result;
}

bool is_own_address(const Address& address) {
    const int fd = socket(address.generic()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    // Without sockets of this family nothing is known to speak against it.
    if (fd < 0) return true;
    const bool is_refused = bind(fd, address.generic(), address.length) != 0;
    const bool is_foreign = is_refused && errno == EADDRNOTAVAIL;
    close(fd);
    return !is_foreign;
}

Error no_interface(const std::string& address, const std::string& node) {
    return {address,
            formatted("{}'s name service does not give its address, so NCCL_SOCKET_IFNAME and "
                      "GLOO_SOCKET_IFNAME stay as they are",
                      node),
            "check /etc/resolv.conf there, or add the name to /etc/hosts"};
}

std::string address_of_interface(const std::string& name) {
    std::string ipv6;
    const Interfaces interfaces = all_interfaces();
    for (const ifaddrs* each = interfaces.get(); each != nullptr; each = each->ifa_next) {
        if (name != each->ifa_name || each->ifa_addr == nullptr) continue;
        const sockaddr& address = *each->ifa_addr;
        if (address.sa_family == AF_INET) return to_text(address, sizeof(sockaddr_in));
        if (address.sa_family != AF_INET6 || is_link_local(address) || !ipv6.empty()) continue;
        ipv6 = to_text(address, sizeof(sockaddr_in6));
    }
    return ipv6;
}

}  // namespace distgpu
