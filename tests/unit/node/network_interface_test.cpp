// Which interface has an address, against this machine's own. All addresses are numbers: nothing
// is looked up in the network.
#include "node/network_interface.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <array>
#include <chrono>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netinet/in.h>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

// An address as text; empty for those that another interface may have too, and of other families.
std::string unique_address(const sockaddr& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.sa_family == AF_INET) {
        sockaddr_in ipv4{};
        std::memcpy(&ipv4, &address, sizeof ipv4);
        if (ntohl(ipv4.sin_addr.s_addr) >> 24U == 127) return {};
        return inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
    }
    if (address.sa_family != AF_INET6) return {};
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &address, sizeof ipv6);
    if (IN6_IS_ADDR_LOOPBACK(&ipv6.sin6_addr) || IN6_IS_ADDR_LINKLOCAL(&ipv6.sin6_addr)) return {};
    return inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
}

// Address and name.
std::vector<std::pair<std::string, std::string>> own_addresses() {
    ifaddrs* found = nullptr;
    EXPECT_EQ(getifaddrs(&found), 0);
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(found, freeifaddrs);
    std::vector<std::pair<std::string, std::string>> own;
    for (const ifaddrs* each = all.get(); each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr) continue;
        std::string address = unique_address(*each->ifa_addr);
        if (!address.empty()) own.emplace_back(std::move(address), each->ifa_name);
    }
    return own;
}

Deadline in_time() {
    return Clock::now() + std::chrono::seconds(5);
}

TEST(NetworkInterfaceOf, AnOwnAddress) {
    const auto own = own_addresses();
    if (own.empty()) GTEST_SKIP() << "this machine has no address but the loopback's";
    for (const auto& [address, name] : own) {
        EXPECT_EQ(interface_of(address, in_time()), (NetworkInterface{name, ""})) << address;
    }
}

// Debian writes 127.0.1.1 into /etc/hosts.
TEST(NetworkInterfaceOf, ALoopbackAddressIsNone) {
    for (const char* address : {"127.0.0.1", "127.0.1.1", "127.255.255.254", "::1"}) {
        EXPECT_EQ(interface_of(address, in_time()), (NetworkInterface{"", address})) << address;
    }
}

// RFC 5737 and RFC 3849 set these apart for documents.
TEST(NetworkInterfaceOf, NobodysAddressIsNone) {
    for (const char* address : {"192.0.2.1", "2001:db8::1", "128.0.0.1", ""}) {
        EXPECT_EQ(interface_of(address, in_time()), NetworkInterface{}) << address;
    }
}

// RFC 4291 2.2 for IPv6; getaddrinfo would also take "1" and "0x7f.1" for IPv4.
TEST(IsIpAddress, IsWhatNeedsNoLookup) {
    for (const char* text : {"192.0.2.1", "2001:db8::1", "::", "::ffff:192.0.2.1"}) {
        EXPECT_TRUE(is_ip_address(text)) << text;
    }
    for (const char* text : {"", "node01", "192.0.2", "192.0.2.256", "1", "0x7f.1", "192.0.2.1 ",
                             "[::1]", "fe80::1%lo"}) {
        EXPECT_FALSE(is_ip_address(text)) << text;
    }
}

}  // namespace
}  // namespace distgpu
