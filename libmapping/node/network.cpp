#include "node/network.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/plan/plan.h"
#include "node/machine.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace distgpu {
namespace {

struct InterfaceAddress {
    std::string interface;
    std::string text;  // with the scope if IPv6 needs one: "fe80::1%eth0"
    bool is_ipv4 = false;
    bool is_up = false;
};

std::vector<InterfaceAddress> interface_addresses() {
    ifaddrs* found = nullptr;
    if (getifaddrs(&found) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(found, freeifaddrs);
    std::vector<InterfaceAddress> addresses;
    for (const ifaddrs* each = found; each != nullptr; each = each->ifa_next) {
        const int family = each->ifa_addr == nullptr ? AF_UNSPEC : each->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        Address address;
        address.length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        std::memcpy(&address.bytes, each->ifa_addr, address.length);
        addresses.push_back({each->ifa_name, address.to_string(), family == AF_INET,
                             (each->ifa_flags & IFF_UP) != 0});
    }
    return addresses;
}

std::string_view without_scope(std::string_view address) {
    return address.substr(0, address.find('%'));
}

// Whether this machine answers at the address: it is an interface's, or is routed here anyway.
bool is_own_address(const Address& address) {
    const UniqueFd fd(socket(address.as_sockaddr()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    // The address alone is asked for.
    const int on = 1;
    setsockopt(fd.fd(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    // Without sockets of this family there is no evidence against it.
    return !fd.is_open() || bind(fd.fd(), address.as_sockaddr(), address.length) == 0 ||
           errno != EADDRNOTAVAIL;
}

// The holder of a port's name, from the kernel's list of sockets, other than `own_step`.
std::string holder_of(const std::string& name, std::string_view own_step) {
    const std::string prefix = "@" + name + ".";
    const auto list = read_regular_file("/proc/self/net/unix");
    std::string_view rest = list ? std::string_view(*list) : std::string_view();
    while (!rest.empty()) {
        std::string_view line = cut_until(rest, '\n');
        const std::size_t at = line.find(prefix);
        if (at == std::string_view::npos) continue;
        line.remove_prefix(at + prefix.size());
        std::string_view number = line;
        const std::string_view job = cut_until(number, '.');
        // Exactly "JOB.STEP": anyone can give a socket any name.
        if (line != own_step && whole_number(job) && whole_number(number) &&
            connect_by_name(formatted("{}.{}", name, line)).is_open()) {
            return formatted("step {}", line);
        }
    }
    return "another program of yours";
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
    result.lookup_failed = lookup.is_unanswered();
    const std::vector<InterfaceAddress> known = interface_addresses();
    for (const Address& own : lookup.addresses) {
        const std::string text = own.to_string();
        // All of 127.0.0.0/8 is loopback, although the interface may list only 127.0.0.1.
        if (own.is_loopback()) {
            result.loopback = text;
            continue;
        }
        for (const InterfaceAddress& each : known) {
            if (without_scope(each.text) == without_scope(text)) return {each.interface, {}};
        }
    }
    return result;
}

Error unresolved_address_error(const std::string& address, const std::string& node) {
    return {address,
            formatted("{} cannot resolve its own address, so NCCL_SOCKET_IFNAME and "
                      "GLOO_SOCKET_IFNAME stay as they are",
                      node),
            "check /etc/resolv.conf there, or add the name to /etc/hosts"};
}

std::vector<std::string> usable_interfaces() {
    std::vector<std::string> names;
    for (InterfaceAddress& each : interface_addresses()) {
        const bool is_known = std::find(names.begin(), names.end(), each.interface) != names.end();
        if (each.is_up && !is_known) names.push_back(std::move(each.interface));
    }
    return names;
}

std::string address_of_interface(const std::string& name) {
    std::string ipv6;
    for (InterfaceAddress& each : interface_addresses()) {
        if (each.interface != name) continue;
        if (each.is_ipv4) return std::move(each.text);
        const bool needs_scope = without_scope(each.text).size() < each.text.size();
        if (ipv6.empty() && !needs_scope) ipv6 = std::move(each.text);
    }
    return ipv6;
}

std::optional<Error> check_address(const Request& request, const StepLayout& layout,
                                   const RendezvousFacts& facts, std::vector<Error>& warnings) {
    auto chosen = chosen_address(request, facts);
    const std::string& node = layout.hosts().name(rank0_node(layout));
    // A launcher's processes connect to each other even if it is the only launcher.
    const bool has_others = layout.task_count() > 1 || request.framework->launcher_per_node;
    if (!chosen || !has_others) return std::nullopt;
    // The names that Slurm and the machine itself have for this node.
    for (const std::string& own : {node, facts.rank0_address, host_name(), short_host_name()}) {
        if (chosen->host == own) return std::nullopt;
    }
    const NameLookup lookup = look_up_name(chosen->host, Clock::now() + name_lookup_timeout);
    if (lookup.is_unanswered()) {
        warnings.push_back(
            {std::move(chosen->object),
             formatted("{}, where rank 0 runs, could not look it up", node),
             formatted("{}, unless it is a name of {}", std::move(chosen->remedy), node)});
        return std::nullopt;
    }
    if (std::any_of(lookup.addresses.begin(), lookup.addresses.end(), is_own_address)) {
        return std::nullopt;
    }
    const char* const problem = lookup.is_unknown() ? "an unknown name on" : "not an address of";
    return Error{std::move(chosen->object), formatted("{} {}, where rank 0 runs", problem, node),
                 std::move(chosen->remedy)};
}

bool has_address(const std::string& ip_address) {
    const NameLookup numeric = look_up_name(ip_address, Clock::now());
    // First the cheaper call. It fails for the address of an interface that belongs to a VRF.
    if (numeric.addresses.empty() || is_own_address(numeric.addresses.front())) return true;
    return std::ranges::any_of(interface_addresses(), [&](const InterfaceAddress& each) {
        return without_scope(each.text) == ip_address;
    });
}

std::optional<std::string> PortClaims::claim(std::uint16_t port, const std::string& step) {
    const int flags = on_exec_ == OnExec::close ? SOCK_CLOEXEC : 0;
    const std::string name = formatted("distgpu.port.{}.{}", geteuid(), port);
    Socket own = listen_by_name(formatted("{}.{}", name, step), flags);
    // Another component or process of the step has the port already.
    if (!own.is_open()) return std::nullopt;
    sockets_.push_back(std::move(own));
    // slurmstepd may outlive its tasks a little.
    constexpr int max_tries = 20;
    for (int tries = 0;; ++tries) {
        Socket exclusive = listen_by_name(name, flags);
        const bool is_taken = !exclusive.is_open() && errno == EADDRINUSE;
        if (!is_taken || !connect_by_name(name).is_open()) {
            sockets_.push_back(std::move(exclusive));
            return std::nullopt;
        }
        if (tries + 1 == max_tries) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    sockets_.pop_back();
    return holder_of(name, step);
}

void PortClaims::release() {
    // shutdown() ends the claim even if this process has only copies of the sockets.
    for (const Socket& socket : sockets_) shutdown(socket.fd(), SHUT_RDWR);
    sockets_.clear();
}

}  // namespace distgpu
