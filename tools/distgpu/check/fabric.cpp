// NCCL loads libibverbs.so.1 by dlopen, opens /dev/infiniband/uverbsN and registers
// its buffers, which locks them in memory; without the first two it uses sockets, without the last
// it ends (NCCL 2.28, transport/net_ib).
#include "check/fabric.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "check/check_list.h"
#include "mapping/binding/binding.h"
#include "mapping/topology/port_verdicts.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <optional>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using Weight = Finding::Weight;
namespace fs = std::filesystem;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
// Linux's own default is 64 KiB, since 5.16 8 MiB; NCCL's buffers of one channel alone have 4 MiB.
constexpr std::uint64_t too_little_memory = 64 * mebibyte;

constexpr std::string_view sockets = "NCCL falls back to sockets";

// The device node of an HCA, as the kernel says in /sys/class/infiniband_verbs.
std::optional<std::string> verbs_node(const std::string& hca, const DeviceRoots& roots) {
    std::error_code unreadable;
    for (const auto& entry :
         fs::directory_iterator(roots.sys + "/class/infiniband_verbs", unreadable)) {
        if (read_trimmed(entry.path().string() + "/ibdev") != hca) continue;
        return formatted("{}/infiniband/{}", roots.dev, entry.path().filename().string());
    }
    return std::nullopt;
}

std::optional<Finding> cannot_open(const std::string& hca, const DeviceRoots& roots) {
    const auto path = verbs_node(hca, roots);
    if (!path) {
        return Finding{Weight::warning,
                       {hca, formatted("the kernel offers no verbs for it; {}", sockets),
                        "ask the administrator to load the module ib_uverbs"}};
    }
    const int fd = open(path->c_str(), O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return std::nullopt;
    }
    return Finding{Weight::warning,
                   {*path, formatted("{}; {}", std::strerror(errno), sockets),
                    "ask the administrator to check its mode, and the devices in cgroup.conf"}};
}

std::optional<Finding> little_memory(std::uint64_t limit) {
    if (limit == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
    return Finding{
        limit < too_little_memory ? Weight::fatal : Weight::warning,
        {"memlock limit", formatted("{} KiB, but NCCL's buffers may need more", limit >> 10U),
         "ask the administrator for LimitMEMLOCK=infinity for slurmd and "
         "PropagateResourceLimitsExcept=MEMLOCK"}};
}

// The verbs ports that NCCL may take, with their HCA.
std::vector<std::pair<const Hca*, const HcaPort*>> eligible_ports(const NodeTopology& topology) {
    std::vector<std::pair<const Hca*, const HcaPort*>> found;
    const auto verdicts = port_verdicts(topology);
    for (std::size_t i = 0; i < topology.hcas.size(); ++i) {
        const Hca& hca = topology.hcas[i];
        for (std::size_t port = 0; port < hca.ports.size(); ++port) {
            if (verdicts[i][port].eligible && hca.kind == HcaKind::verbs) {
                found.emplace_back(&hca, &hca.ports[port]);
            }
        }
    }
    return found;
}

Findings none_eligible(const NodeTopology& topology) {
    Findings findings;
    for (const Hca& hca : topology.hcas) {
        if (hca.kind != HcaKind::verbs) continue;
        findings.push_back({Weight::warning,
                            {hca.name, formatted("no port is ACTIVE; {}", sockets),
                             "ask the administrator to check the output of ibstat"}});
    }
    return findings;
}

}  // namespace

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

CheckResult check_fabric(const NodeTopology& topology, const FabricAccess& access,
                         const DeviceRoots& roots) {
    const auto ports = eligible_ports(topology);
    if (ports.empty()) return {none_eligible(topology)};
    CheckResult check;
    if (!access.verbs_library) {
        check.findings.push_back({Weight::warning,
                                  {"libibverbs.so.1", formatted("not found; {}", sockets),
                                   "install libibverbs1 (rdma-core) where the program runs"}});
        return check;
    }
    std::size_t usable = 0;
    for (const auto& [hca, port] : ports) {
        if (auto finding = cannot_open(hca->name, roots)) {
            check.findings.push_back(*std::move(finding));
        } else if (++usable == 1) {
            check.ports = formatted("{}:{} {:g} Gb/s", hca->name, port->number, port->gbps);
        }
    }
    if (usable > 1) check.ports += formatted(" +{}", usable - 1);
    if (usable > 0) {
        if (auto finding = little_memory(access.locked_memory)) {
            check.findings.push_back(*std::move(finding));
        }
    }
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

}  // namespace distgpu
