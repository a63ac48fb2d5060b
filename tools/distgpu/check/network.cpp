// The checks of what the ranks reach each other by: InfiniBand, interfaces and names.
//
// NCCL loads libibverbs.so.1 by dlopen, opens /dev/infiniband/uverbsN and registers its buffers,
// which locks them in memory; without the first two it uses sockets, without the last it ends (NCCL
// 2.28, transport/net_ib).
#include "node/network.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "check/checks.h"
#include "mapping/binding/binding.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

// 64 MiB. Linux's own default is 64 KiB, since 5.16 8 MiB; NCCL's buffers of one channel alone have
// 4 MiB.
constexpr std::uint64_t too_little_memory = std::uint64_t{64} << 20U;

constexpr std::string_view sockets = "NCCL falls back to sockets";

// The device node of an HCA, as the kernel says in /sys/class/infiniband_verbs.
std::optional<std::string> verbs_node(const std::string& hca, const MachineRoots& roots) {
    const std::string folder = roots.sys + "/class/infiniband_verbs";
    for (const std::string& name : files_in(folder)) {
        if (read_trimmed(formatted("{}/{}/ibdev", folder, name)) != hca) continue;
        return formatted("{}/infiniband/{}", roots.dev, name);
    }
    return std::nullopt;
}

std::optional<Finding> cannot_open(const std::string& hca, const MachineRoots& roots) {
    const auto path = verbs_node(hca, roots);
    if (!path) {
        return warning(hca, formatted("the kernel offers no verbs for it; {}", sockets),
                       "ask the administrator to load the module ib_uverbs");
    }
    if (UniqueFd(open(path->c_str(), O_RDWR | O_CLOEXEC)).is_open()) return std::nullopt;
    return warning(*path, formatted("{}; {}", std::strerror(errno), sockets),
                   "ask the administrator to check its mode, and the devices in cgroup.conf");
}

std::optional<Finding> little_memory(std::uint64_t limit) {
    if (limit == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
    return (limit < too_little_memory ? fatal : warning)(
        "memlock limit", formatted("{} KiB, but NCCL's buffers may need more", limit >> 10U),
        "ask the administrator for LimitMEMLOCK=infinity for slurmd and "
        "PropagateResourceLimitsExcept=MEMLOCK",
        "");
}

FabricAccess fabric_access() {
    FabricAccess access;
    if (void* const library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL)) {
        access.verbs_library = true;
        dlclose(library);
    }
    rlimit limit{};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
        access.locked_memory = limit.rlim_cur == RLIM_INFINITY
                                   ? std::numeric_limits<std::uint64_t>::max()
                                   : limit.rlim_cur;
    }
    return access;
}

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
        return std::ranges::any_of(names, [&](std::string_view name) {
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
    const auto taken = std::ranges::find_if(order, is_taken);
    return taken == order.end() ? std::nullopt : std::optional(*taken);
}

// Gloo's: whole names, each of which has to be there (torch 2.x, ProcessGroupGloo).
bool gloo_finds(std::string_view value, const std::vector<std::string>& interfaces) {
    const auto names = comma_items(value);
    return std::ranges::all_of(names, [&](std::string_view name) {
        return name.empty() || std::ranges::find(interfaces, name) != interfaces.end();
    });
}

// The address at which the other nodes' NCCL or Gloo find this one: of the first of `interfaces`
// that NCCL_SOCKET_IFNAME names, else GLOO_SOCKET_IFNAME, else of `usual`, which has the node's
// address. Empty: there is none.
std::string communication_address(const Environment& environment,
                                  const std::vector<std::string>& interfaces,
                                  const std::string& usual) {
    const std::string nccl = environment.text("NCCL_SOCKET_IFNAME");
    if (!nccl.empty()) {
        const auto taken = nccl_takes(nccl, interfaces);
        return taken ? address_of_interface(*taken) : std::string();
    }
    const std::string gloo = environment.text("GLOO_SOCKET_IFNAME");
    return address_of_interface(gloo.empty() ? usual : gloo.substr(0, gloo.find(',')));
}

// The first address of the name that is the loopback's; empty: none is.
Result<std::string> loopback_of(const std::string& host, Deadline deadline) {
    auto addresses = resolve(host, 0, deadline);
    if (!addresses) return addresses.error();
    const auto found =
        std::ranges::find_if(*addresses, [](const Address& each) { return each.is_loopback(); });
    return found == addresses->end() ? std::string() : found->to_string();
}

Finding own_loopback(const std::string& object, const std::string& loopback,
                     const std::string& host) {
    return warning(
        object,
        formatted("resolves to {} on {} itself, so other nodes cannot reach it", loopback, host),
        formatted("remove it from that line of /etc/hosts on {}, or export GLOO_SOCKET_IFNAME",
                  host));
}

}  // namespace

CheckResult check_fabric(const NodeTopology& topology, const FabricAccess& access,
                         const MachineRoots& roots) {
    const std::vector<PortRef> ports = rank_ports(topology);
    CheckResult check;
    for (const Hca& hca : topology.hcas) {
        if (!ports.empty() || hca.kind != HcaKind::verbs) continue;
        check.findings.push_back(warning(hca.name, formatted("no port is ACTIVE; {}", sockets),
                                         "ask the administrator to check the output of ibstat"));
    }
    if (!ports.empty() && !access.verbs_library) {
        return {{warning("libibverbs.so.1", formatted("not found; {}", sockets),
                         "install libibverbs1 (rdma-core) where the program runs")}};
    }
    std::size_t usable = 0;
    for (const PortRef port : ports) {
        const Hca& hca = topology.hcas[port.hca];
        if (auto finding = cannot_open(hca.name, roots)) {
            check.findings.push_back(*std::move(finding));
        } else if (++usable == 1) {
            check.ports =
                formatted("{} {:g} Gb/s", port_name(topology, port), hca.ports[port.port].gbps);
        }
    }
    if (usable > 1) check.ports += formatted(" +{}", usable - 1);
    if (usable > 0) add(check.findings, little_memory(access.locked_memory));
    return check;
}

const NamedCheck fabric_check{
    "fabric",
    "InfiniBand has an ACTIVE port that NCCL would use, its device node can be opened, libibverbs "
    "is installed, and enough memory can be locked.",
    [](const CheckFacts& facts) {
        return facts.own->node.topology != nullptr &&
               facts.environment->get("NCCL_IB_DISABLE") != "1";
    },
    [](const CheckFacts& facts) {
        return check_fabric(*facts.own->node.topology, fabric_access());
    },
};

Findings check_interfaces(const Environment& environment,
                          const std::vector<std::string>& interfaces) {
    Findings findings;
    for (const char* variable : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"}) {
        const std::string value = environment.text(variable);
        const bool found = variable[0] == 'N' ? nccl_takes(value, interfaces).has_value()
                                              : gloo_finds(value, interfaces);
        if (value.empty() || found) continue;
        findings.push_back(fatal(variable,
                                 formatted("no interface '{}' is up on this node; up: {}", value,
                                           join(interfaces, ", ")),
                                 "unset it, or name one that all nodes have"));
    }
    return findings;
}

std::string address_object(const Rendezvous& rendezvous) {
    return formatted("rendezvous address {}", rendezvous.address);
}

Findings check_names(const Environment& environment, const NameCheck& node,
                     const Rendezvous& rendezvous, Deadline deadline) {
    const std::string master = address_object(rendezvous);
    const auto loopback = loopback_of(rendezvous.address, deadline);
    if (!loopback) return {fatal(master, loopback.error().problem, loopback.error().remedy)};
    Findings findings;
    if (!node.several_nodes) return findings;
    if (!loopback->empty() && node.runs_rank0) {
        findings.push_back(own_loopback(master, *loopback, node.host));
    } else if (!loopback->empty()) {
        findings.push_back(
            fatal(master,
                  formatted("resolves to {} on {}, which is {} itself and not rank 0's node",
                            *loopback, node.host, node.host),
                  formatted("remove it from that line of /etc/hosts on {}", node.host)));
    } else if (node.runs_rank0) {
        const NetworkInterface found = interface_of(rendezvous.address, deadline);
        if (!found.unanswered && found.name.empty()) {
            findings.push_back(
                fatal(master, formatted("not an address of {}, where rank 0 runs", node.host),
                      "unset MASTER_ADDR, or use the key master=name"));
        }
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

// Its work begins when all have reported (pairs/trial.h).
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
