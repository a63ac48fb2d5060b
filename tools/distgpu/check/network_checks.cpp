// The checks of InfiniBand, network interfaces and host names.
//
// NCCL loads libibverbs.so.1 by dlopen, opens /dev/infiniband/uverbsN and registers its buffers,
// which locks them in memory. If one of the first two fails it uses sockets, if the last fails it
// ends (NCCL 2.28, transport/net_ib).
#include "base/format.h"
#include "base/io/files.h"
#include "base/io/resolve.h"
#include "base/values.h"
#include "check/checks.h"
#include "check/net_plugin.h"
#include "check/pairs/interface.h"
#include "check/step_check.h"
#include "mapping/binding/binding.h"
#include "mapping/fabric/nccl_names.h"
#include "mapping/fabric/nccl_network.h"
#include "node/network.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits>
#include <netdb.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

// 64 MiB. Linux's default is 64 KiB, or 8 MiB since 5.16; NCCL's buffers for a single channel have
// 4 MiB.
constexpr std::uint64_t min_memlock = std::uint64_t{64} << 20U;

// How many of the interfaces that NCCL would use are tried.
constexpr std::size_t max_tried_interfaces = 8;

constexpr std::string_view socket_fallback = "NCCL falls back to sockets";

// The device node of an HCA, from /sys/class/infiniband_verbs.
std::optional<std::string> verbs_device(const std::string& hca, const MachineRoots& roots) {
    const std::string folder = roots.sys + "/class/infiniband_verbs";
    for (const std::string& name : files_in(folder)) {
        if (read_trimmed(formatted("{}/{}/ibdev", folder, name)) != hca) continue;
        return formatted("{}/infiniband/{}", roots.dev, name);
    }
    return std::nullopt;
}

std::optional<Finding> check_verbs_device(const std::string& hca, const MachineRoots& roots) {
    const auto path = verbs_device(hca, roots);
    if (!path) {
        return warning(hca, formatted("the kernel has no verbs device for it; {}", socket_fallback),
                       "ask the administrator to load the module ib_uverbs");
    }
    if (UniqueFd(open(path->c_str(), O_RDWR | O_CLOEXEC)).is_open()) return std::nullopt;
    return warning(*path, formatted("{}; {}", std::strerror(errno), socket_fallback),
                   "ask the administrator to check its mode, and the devices in cgroup.conf");
}

std::optional<Finding> check_memlock(std::uint64_t limit) {
    if (limit == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
    return (limit < min_memlock ? fatal : warning)(
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

// GLOO_SOCKET_IFNAME lists whole names, each of which has to exist (torch 2.x, ProcessGroupGloo).
bool has_gloo_interfaces(std::string_view value, const std::vector<std::string>& interfaces) {
    const auto names = comma_items(value);
    return std::ranges::all_of(names, [&](std::string_view name) {
        return name.empty() || std::ranges::find(interfaces, name) != interfaces.end();
    });
}

// The address at which NCCL or Gloo on other nodes reach this one: of the first of `interfaces`
// that NCCL_SOCKET_IFNAME allows, or of GLOO_SOCKET_IFNAME, or of `default_interface`, which has
// the node's address. Empty if that interface has no address.
std::string communication_address(const Environment& environment,
                                  const std::vector<std::string>& interfaces,
                                  const std::string& default_interface) {
    const std::string nccl = environment.text("NCCL_SOCKET_IFNAME");
    if (chooses_interfaces(nccl)) {
        const auto used = nccl_interfaces(nccl, interfaces);
        return used.empty() ? std::string() : address_of_interface(used.front());
    }
    const std::string gloo = environment.text("GLOO_SOCKET_IFNAME");
    return address_of_interface(gloo.empty() ? default_interface : gloo.substr(0, gloo.find(',')));
}

// The first loopback address to which the name resolves; empty if there is none.
Result<std::string> find_loopback(const std::string& host, Deadline deadline) {
    auto addresses = resolve(host, 0, deadline);
    if (!addresses) return addresses.error();
    const auto found =
        std::ranges::find_if(*addresses, [](const Address& each) { return each.is_loopback(); });
    return found == addresses->end() ? std::string() : found->to_string();
}

Finding loopback_warning(const std::string& object, const std::string& loopback,
                         const std::string& host) {
    return warning(
        object,
        formatted("resolves to {} on {} itself, so other nodes cannot reach it", loopback, host),
        formatted("remove it from that line of /etc/hosts on {}, or export GLOO_SOCKET_IFNAME",
                  host));
}

}  // namespace

CheckResult check_fabric(const NodeTopology& topology, const FabricAccess& access,
                         const std::string& allowed, const MachineRoots& roots) {
    std::vector<PortRef> ports = rank_ports(topology);
    const NcclNames names(allowed, NcclNames::max_hcas);
    const bool had_ports = !ports.empty();
    std::erase_if(ports, [&](PortRef port) {
        const Hca& hca = topology.hcas[port.hca];
        return !names.allows(hca.name, hca.ports[port.port].number);
    });
    if (had_ports && ports.empty()) {
        return {{warning("NCCL_IB_HCA=" + allowed,
                         formatted("allows no port that is ACTIVE; {}", socket_fallback),
                         "unset it: distgpu names the nearest port of each task")}};
    }
    CheckResult check;
    for (const Hca& hca : topology.hcas) {
        if (!ports.empty() || hca.kind != HcaKind::verbs) continue;
        check.findings.push_back(warning(hca.name,
                                         formatted("no port is ACTIVE; {}", socket_fallback),
                                         "ask the administrator to check the output of ibstat"));
    }
    if (!ports.empty() && !access.verbs_library) {
        return {{warning("libibverbs.so.1", formatted("not found; {}", socket_fallback),
                         "install libibverbs1 (rdma-core) where the program runs")}};
    }
    std::size_t usable = 0;
    for (const PortRef port : ports) {
        const Hca& hca = topology.hcas[port.hca];
        if (auto finding = check_verbs_device(hca.name, roots)) {
            check.findings.push_back(*std::move(finding));
        } else if (++usable == 1) {
            check.ports =
                formatted("{} {:g} Gb/s", port_name(topology, port), hca.ports[port.port].gbps);
        }
    }
    if (usable > 1) check.ports += formatted(" +{}", usable - 1);
    if (usable > 0) add_finding(check.findings, check_memlock(access.locked_memory));
    return check;
}

namespace {

bool has_other_nodes(const CheckFacts& facts) {
    return facts.own_task->place.layout.node_count() > 1;
}

std::optional<GpuVendor> vendor_of_gpus(const NodeTopology* topology) {
    if (topology == nullptr || topology->gpus.empty()) return std::nullopt;
    return topology->gpus.front().vendor;
}

// Without GPUs, or on Intel's, programs do not use NCCL.
bool may_use_nccl(const CheckFacts& facts) {
    const NodeTopology* const topology = facts.own_task->node.topology.get();
    return visible_gpu_count(*facts.environment, topology) > 0 &&
           vendor_of_gpus(topology) != GpuVendor::intel;
}

bool may_use_verbs(const CheckFacts& facts) {
    return facts.own_task->node.topology != nullptr &&
           facts.environment->get("NCCL_IB_DISABLE") != "1";
}

// For loading a plugin.
Deadline plugin_deadline(const CheckFacts& facts) {
    constexpr std::chrono::seconds longest{5};
    return std::min(facts.deadline, Clock::now() + longest);
}

std::vector<NetPlugin> plugins_of_task(const CheckFacts& facts, bool rccl) {
    if (!facts.in_container) {
        return load_net_plugins(*facts.environment, rccl, plugin_deadline(facts));
    }
    std::vector<NetPlugin> plugins;
    for (const auto& files : net_plugin_files(*facts.environment, rccl)) {
        plugins.push_back({.file = files.front(), .is_unknown = true});
    }
    return plugins;
}

// NCCL goes on without a plugin that tunes it.
void add_tuner(CheckResult& check, const CheckFacts& facts, bool rccl) {
    if (facts.in_container) return;
    const auto tuner = load_tuner_plugin(*facts.environment, rccl, plugin_deadline(facts));
    if (!tuner || tuner->problem.empty()) return;
    check.findings.push_back(
        warning("NCCL_TUNER_PLUGIN=" + excerpt(facts.environment->text("NCCL_TUNER_PLUGIN")),
                formatted("{}, so NCCL does without it and does not say so", tuner->problem),
                "load the module that has it, or unset the variable"));
}

// The host name of the interface's address; empty if there is none.
std::string name_of_interface(const std::string& interface) {
    const auto addresses = resolve(address_of_interface(interface), 0, Clock::now());
    std::array<char, NI_MAXHOST> name{};
    if (!addresses || addresses->empty() ||
        getnameinfo(addresses->front().as_sockaddr(), addresses->front().length, name.data(),
                    name.size(), nullptr, 0, NI_NAMEREQD) != 0) {
        return {};
    }
    return name.data();
}

// Only between nodes does it matter what NCCL takes.
void add_network(CheckResult& check, const CheckFacts& facts) {
    const NodeTopology* const topology = facts.own_task->node.topology.get();
    const bool rccl = vendor_of_gpus(topology) == GpuVendor::amd;
    add_tuner(check, facts, rccl);
    const std::vector<std::string> interfaces =
        nccl_interfaces(facts.environment->text("NCCL_SOCKET_IFNAME"), usable_interfaces());
    const NcclNetwork network = nccl_network(
        *facts.environment, {plugins_of_task(facts, rccl), check.ports, interfaces, topology});
    if (network.kind != NcclNetwork::Kind::verbs) check.network = network.text;
    if (network.kind == NcclNetwork::Kind::sockets && !interfaces.empty()) {
        add_finding(check.findings, check_faster_interface(interfaces.front(), usable_interfaces(),
                                                           short_host_name(), name_of_interface));
    }
    if (!network.fault) return;
    const bool ends = network.kind == NcclNetwork::Kind::none;
    check.findings.push_back(
        {ends ? Finding::Severity::fatal : Finding::Severity::warning, *network.fault});
}

}  // namespace

const NamedCheck fabric_check{
    "fabric",
    "The network that NCCL takes between the nodes is the fastest: its plugin loads and finds its "
    "devices, or an InfiniBand port is ACTIVE, its device node can be opened, libibverbs is "
    "installed, and enough memory can be locked.",
    [](const CheckFacts& facts) { return may_use_verbs(facts) || has_other_nodes(facts); },
    [](const CheckFacts& facts) {
        CheckResult check;
        if (may_use_verbs(facts)) {
            check = check_fabric(*facts.own_task->node.topology, fabric_access(),
                                 facts.environment->text("NCCL_IB_HCA"));
        }
        if (has_other_nodes(facts) && may_use_nccl(facts)) add_network(check, facts);
        return check;
    },
};

Findings check_interfaces(const Environment& environment,
                          const std::vector<std::string>& interfaces, bool has_other_nodes) {
    Findings findings;
    const auto missing = [&](const char* variable, const std::string& value) {
        return fatal(variable,
                     formatted("no interface '{}' is up on this node; up: {}", value,
                               join(interfaces, ", ")),
                     "unset it, or name one that all nodes have");
    };
    const std::string nccl = environment.text("NCCL_SOCKET_IFNAME");
    const auto used = nccl_interfaces(nccl, interfaces);
    if (chooses_interfaces(nccl) && used.empty()) {
        findings.push_back(missing("NCCL_SOCKET_IFNAME", nccl));
    } else if (chooses_interfaces(nccl) && has_other_nodes && used.front() == "lo") {
        findings.push_back(fatal(formatted("NCCL_SOCKET_IFNAME={}", nccl),
                                 "NCCL takes lo first, where other nodes do not reach it",
                                 "unset it, or exclude lo too: NCCL_SOCKET_IFNAME=^lo,docker"));
    }
    const std::string gloo = environment.text("GLOO_SOCKET_IFNAME");
    if (!gloo.empty() && !has_gloo_interfaces(gloo, interfaces)) {
        findings.push_back(missing("GLOO_SOCKET_IFNAME", gloo));
    }
    return findings;
}

std::optional<Finding> check_faster_interface(
    const std::string& used, const std::vector<std::string>& interfaces, const std::string& host,
    const std::function<std::string(const std::string& interface)>& name_of,
    const MachineRoots& roots) {
    constexpr double much_faster = 4;
    const double speed = interface_speed(used, roots);
    std::string fastest = used;
    for (const std::string& name : interfaces) {
        if (interface_speed(name, roots) > interface_speed(fastest, roots)) fastest = name;
    }
    if (speed <= 0 || interface_speed(fastest, roots) < much_faster * speed) return std::nullopt;
    std::string remedy =
        formatted("export NCCL_SOCKET_IFNAME={0} and GLOO_SOCKET_IFNAME={0}", fastest);
    std::string name = name_of(fastest);
    name.resize(std::min(name.find('.'), name.size()));
    if (name.size() > host.size() && name.starts_with(host)) {
        remedy += formatted(", and use the key master=suffix:{}", name.substr(host.size()));
    }
    return warning("network",
                   formatted("NCCL sends over {} ({}), although {} has {}", used, rate_text(speed),
                             fastest, rate_text(interface_speed(fastest, roots))),
                   remedy);
}

std::string rendezvous_object(const Rendezvous& rendezvous) {
    return formatted("rendezvous address {}", rendezvous.address);
}

Findings check_names(const Environment& environment, const NameCheckFacts& node,
                     const Rendezvous& rendezvous, Deadline deadline) {
    const std::string master = rendezvous_object(rendezvous);
    const auto loopback = find_loopback(rendezvous.address, deadline);
    if (!loopback) return {fatal(master, loopback.error().problem, loopback.error().remedy)};
    Findings findings;
    if (!node.has_other_nodes) return findings;
    if (!loopback->empty() && node.runs_rank0) {
        findings.push_back(loopback_warning(master, *loopback, node.host));
    } else if (!loopback->empty()) {
        findings.push_back(
            fatal(master,
                  formatted("resolves to {} on {}, which is {} itself and not rank 0's node",
                            *loopback, node.host, node.host),
                  formatted("remove it from that line of /etc/hosts on {}", node.host)));
    } else if (node.runs_rank0) {
        const NetworkInterface found = interface_of(rendezvous.address, deadline);
        if (!found.lookup_failed && found.name.empty()) {
            findings.push_back(
                fatal(master, formatted("not an address of {}, where rank 0 runs", node.host),
                      "unset MASTER_ADDR, or use the key master=name"));
        }
    }
    if (node.host == rendezvous.address || environment.get("GLOO_SOCKET_IFNAME")) return findings;
    const auto own = find_loopback(node.host, deadline);
    if (own && !own->empty()) {
        findings.push_back(loopback_warning(formatted("host name {}", node.host), *own, node.host));
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
        return CheckResult{
            check_interfaces(*facts.environment, usable_interfaces(), has_other_nodes(facts))};
    },
};

// Only finds this node's address; the trial itself starts when all have reported
// (pairs/network_trial.h).
const NamedCheck network_check{
    "network",
    "Every node exchanges data with others over the interface that NCCL or Gloo will use, no node "
    "is "
    "slower than the rest, and no link carries less than a tenth of its interfaces' speed.",
    [](const CheckFacts& facts) {
        return facts.own_task->place.local == LocalRank{0} &&
               facts.own_task->place.layout.node_count() > 1;
    },
    [](const CheckFacts& facts) {
        CheckResult result;
        const std::vector<std::string> interfaces = usable_interfaces();
        result.trial_host =
            communication_address(*facts.environment, interfaces, facts.own_task->facts.interface);
        const std::string nccl = facts.environment->text("NCCL_SOCKET_IFNAME");
        if (!chooses_interfaces(nccl)) return result;
        auto used = nccl_interfaces(nccl, interfaces);
        used.resize(std::min(used.size(), max_tried_interfaces));
        for (std::size_t i = 1; i < used.size(); ++i) {
            const std::string address = address_of_interface(used[i]);
            if (!address.empty()) result.more_hosts.push_back(used[i] + "=" + address);
        }
        return result;
    },
};

const NamedCheck names_check{
    "names",
    "The rendezvous address and the node's own name resolve to addresses that other nodes can "
    "reach.",
    applies_always,
    [](const CheckFacts& facts) {
        const ProcessPlace& place = facts.own_task->place;
        const NameCheckFacts node{host_name(), place.layout.node_count() > 1,
                                  place.node == rank0_node(place.layout)};
        return CheckResult{
            check_names(*facts.environment, node, facts.own_task->plan.rendezvous, facts.deadline)};
    },
};

}  // namespace distgpu
