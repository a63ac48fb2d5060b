#include "check/network_findings.h"

#include "base/format.h"
#include "check/check_list.h"
#include "check/rate_text.h"

#include <algorithm>
#include <string>

namespace distgpu {
namespace {

std::string name_of(std::uint32_t node, const StepLayout& layout) {
    return layout.hosts().name(NodeIndex{node});
}

std::string names_of(const std::vector<std::uint32_t>& nodes, const StepLayout& layout) {
    std::vector<std::string> names;
    names.reserve(nodes.size());
    for (const std::uint32_t node : nodes) names.push_back(name_of(node, layout));
    return HostList::from_names(names).to_string();
}

// What the datagrams say of where the packets are lost.
std::string direction(const NetworkFault& fault, const std::string& own, const std::string& other) {
    if (fault.packets_arrive && fault.packets_leave) {
        return "datagrams pass both ways, so a firewall may close the ports";
    }
    if (fault.packets_arrive) {
        return formatted("packets from {} arrive, but none goes from {} to {}", other, own, other);
    }
    if (fault.packets_leave) {
        return formatted("packets to {} arrive, but none comes from {} to {}", other, other, own);
    }
    return "no packet passes either way";
}

Error unreachable(const NetworkFault& fault, const StepLayout& layout,
                  const std::string& interface) {
    const std::string own = name_of(fault.node, layout);
    const std::string others = names_of(fault.partners, layout);
    return {
        "network",
        formatted("no connection between {} and {} over {}: {}; {}", own, others, interface,
                  fault.problem, direction(fault, own, others)),
        formatted("check its link, routes and firewall, or leave it out with --exclude={}", own)};
}

Error slow(const NetworkFault& fault, const StepLayout& layout, const std::string& interface) {
    const bool sends = fault.kind == NetworkFault::Kind::sends_slowly;
    const std::string own = name_of(fault.node, layout);
    return {"network",
            formatted("{} {} {} over {}, where the median node {} {}", own,
                      sends ? "sends" : "takes", rate_text(fault.rate), interface,
                      sends ? "sends" : "takes", rate_text(fault.usual)),
            formatted("check its link with ethtool and its cable, or leave it out with "
                      "--exclude={}",
                      own)};
}

}  // namespace

void add_network_findings(std::vector<Report>& reports, const std::vector<NetworkFault>& faults,
                          const StepLayout& layout) {
    for (const NetworkFault& fault : faults) {
        const auto own = std::find_if(reports.begin(), reports.end(), [&](const Report& report) {
            return report.node == fault.node && !report.trial.empty();
        });
        if (own == reports.end()) continue;
        const std::string interface = own->interface.empty() ? own->trial : own->interface;
        own->findings.push_back({Finding::Weight::fatal,
                                 fault.kind == NetworkFault::Kind::unreachable
                                     ? unreachable(fault, layout, interface)
                                     : slow(fault, layout, interface),
                                 std::string(network_check.name)});
    }
}

}  // namespace distgpu
