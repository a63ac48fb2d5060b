#include "check/network.h"

#include "base/format.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "check/check_list.h"
#include "node/machine.h"
#include "node/network_interface.h"

#include <algorithm>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <optional>
#include <string_view>
#include <sys/socket.h>

namespace distgpu {
namespace {

using Weight = Finding::Weight;

// NCCL's syntax: prefixes, or whole names after '=', of which '^' before all excludes
// (NCCL 2.28, misc/param and os/linux).
std::optional<std::string> nccl_takes(std::string_view value,
                                      const std::vector<std::string>& interfaces) {
    const bool excludes = value.substr(0, 1) == "^";
    if (excludes) value.remove_prefix(1);
    const bool whole = value.substr(0, 1) == "=";
    if (whole) value.remove_prefix(1);
    const auto names = comma_items(value);
    const auto is_named = [&](const std::string& interface) {
        return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
            const std::string_view beginning = std::string_view(interface).substr(0, name.size());
            return !name.empty() && (whole ? interface == name : beginning == name);
        });
    };
    // It leaves the loopback for the last.
    const auto is_taken = [&](const std::string& interface) {
        return is_named(interface) != excludes;
    };
    std::vector<std::string> order = interfaces;
    std::stable_partition(order.begin(), order.end(),
                          [](const std::string& interface) { return interface != "lo"; });
    const auto taken = std::find_if(order.begin(), order.end(), is_taken);
    return taken == order.end() ? std::nullopt : std::optional(*taken);
}

bool nccl_finds(std::string_view value, const std::vector<std::string>& interfaces) {
    return nccl_takes(value, interfaces).has_value();
}

// Gloo's: whole names, each of which has to be there (torch 2.x, ProcessGroupGloo).
bool gloo_finds(std::string_view value, const std::vector<std::string>& interfaces) {
    const auto names = comma_items(value);
    return std::all_of(names.begin(), names.end(), [&](std::string_view name) {
        return name.empty() ||
               std::find(interfaces.begin(), interfaces.end(), name) != interfaces.end();
    });
}

Finding no_such_interface(const char* variable, const std::string& value,
                          const std::vector<std::string>& interfaces) {
    return {
        Weight::fatal,
        {variable,
         formatted("no interface '{}' is up on this node; up: {}", value, join(interfaces, ", ")),
         "unset it, or name one that all nodes have"}};
}

// The first address of the name that is the loopback's; empty: none is.
Result<std::string> loopback_of(const std::string& host, Deadline deadline) {
    auto addresses = resolve(host, 0, deadline);
    if (!addresses) return addresses.error();
    const auto found = std::find_if(addresses->begin(), addresses->end(),
                                    [](const Address& each) { return each.is_loopback(); });
    return found == addresses->end() ? std::string() : found->to_string();
}

// Of an address that is not the loopback's.
bool has_no_interface(const std::string& address, Deadline deadline) {
    const NetworkInterface found = interface_of(address, deadline);
    return !found.unanswered && found.name.empty();
}

Finding own_loopback(const std::string& object, const std::string& loopback,
                     const std::string& host) {
    return {
        Weight::warning,
        {object,
         formatted("resolves to {} on {} itself, so other nodes cannot reach it", loopback, host),
         formatted("remove it from that line of /etc/hosts on {}, or export "
                   "GLOO_SOCKET_IFNAME",
                   host)}};
}

// Of a node that does not run rank 0.
Finding foreign_loopback(const std::string& object, const std::string& loopback,
                         const std::string& host) {
    return {Weight::fatal,
            {object,
             formatted("resolves to {} on {}, which is {} itself and not rank 0's node", loopback,
                       host, host),
             formatted("remove it from that line of /etc/hosts on {}", host)}};
}

}  // namespace

Findings check_interfaces(const Environment& environment,
                          const std::vector<std::string>& interfaces) {
    Findings findings;
    const auto look = [&](const char* variable, auto finds) {
        const std::string value = environment.get(variable).value_or("");
        if (value.empty() || finds(value, interfaces)) return;
        findings.push_back(no_such_interface(variable, value, interfaces));
    };
    look("NCCL_SOCKET_IFNAME", nccl_finds);
    look("GLOO_SOCKET_IFNAME", gloo_finds);
    return findings;
}

std::vector<std::string> usable_interfaces() {
    std::vector<std::string> names;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return names;
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
        const int family = each->ifa_addr == nullptr ? AF_UNSPEC : each->ifa_addr->sa_family;
        if ((each->ifa_flags & IFF_UP) == 0 || (family != AF_INET && family != AF_INET6)) continue;
        if (std::find(names.begin(), names.end(), each->ifa_name) == names.end()) {
            names.emplace_back(each->ifa_name);
        }
    }
    return names;
}

std::string communication_address(const Environment& environment,
                                  const std::vector<std::string>& interfaces,
                                  const std::string& usual) {
    const std::string nccl = environment.get("NCCL_SOCKET_IFNAME").value_or("");
    if (!nccl.empty()) {
        const auto taken = nccl_takes(nccl, interfaces);
        return taken ? address_of_interface(*taken) : std::string();
    }
    const std::string gloo = environment.get("GLOO_SOCKET_IFNAME").value_or("");
    return address_of_interface(gloo.empty() ? usual : gloo.substr(0, gloo.find(',')));
}

std::string address_object(const Rendezvous& rendezvous) {
    return formatted("rendezvous address {}", rendezvous.address);
}

Findings check_names(const Environment& environment, const NameCheck& node,
                     const Rendezvous& rendezvous, Deadline deadline) {
    const std::string master = address_object(rendezvous);
    const auto loopback = loopback_of(rendezvous.address, deadline);
    if (!loopback) {
        return {{Weight::fatal, {master, loopback.error().problem, loopback.error().remedy}}};
    }
    Findings findings;
    if (!node.several_nodes) return findings;
    if (!loopback->empty()) {
        findings.push_back(node.runs_rank0 ? own_loopback(master, *loopback, node.host)
                                           : foreign_loopback(master, *loopback, node.host));
    } else if (node.runs_rank0 && has_no_interface(rendezvous.address, deadline)) {
        findings.push_back(
            {Weight::fatal,
             {master, formatted("not an address of {}, where rank 0 runs", node.host),
              "unset MASTER_ADDR, or use the key master=name"}});
    }
    if (node.host == rendezvous.address || environment.get("GLOO_SOCKET_IFNAME")) return findings;
    const auto own = loopback_of(node.host, deadline);
    if (own && !own->empty()) {
        findings.push_back(own_loopback(formatted("host name {}", node.host), *own, node.host));
    }
    return findings;
}

const NamedCheck interfaces_check{
    "interfaces",
    "NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME name interfaces of the node that are up.",
    [](const CheckFacts& facts) {
        return facts.environment->get("NCCL_SOCKET_IFNAME") ||
               facts.environment->get("GLOO_SOCKET_IFNAME");
    },
    [](const CheckFacts& facts) {
        return CheckResult{check_interfaces(*facts.environment, usable_interfaces())};
    },
};

// Its work begins when all have reported (pairs/step_trial.h).
const NamedCheck network_check{
    "network",
    "Every node exchanges data with others over the interface that NCCL or Gloo will use, and none "
    "is slower than the rest.",
    [](const CheckFacts& facts) {
        return facts.own->place.local == LocalRank{0} && facts.own->place.layout.node_count() > 1;
    },
    [](const CheckFacts& facts) {
        CheckResult result;
        result.trial_host = communication_address(*facts.environment, usable_interfaces(),
                                                  facts.own->facts.interface);
        return result;
    },
};

const NamedCheck names_check{
    "names",
    "The rendezvous address and the node's own name resolve to addresses that other nodes can "
    "reach.",
    always,
    [](const CheckFacts& facts) {
        const Place& place = facts.own->place;
        const NameCheck node{host_name(), place.layout.node_count() > 1,
                             place.node == rank0_node(place.layout)};
        return CheckResult{
            check_names(*facts.environment, node, facts.own->plan.rendezvous, facts.deadline)};
    },
};

}  // namespace distgpu
