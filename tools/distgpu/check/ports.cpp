// Whether the ports are free on which this task's program will listen besides the rendezvous's own,
// at which rank 0 listens itself.
#include "base/format.h"
#include "check/check_list.h"
#include "node/port_check.h"

#include <cstdint>
#include <vector>

namespace distgpu {
namespace {

std::vector<std::uint16_t> further_ports(const OwnTask& own) {
    const std::vector<std::uint16_t>& ports = own.plan.ports;
    const bool rank0 = own.task().rank == GlobalRank{0};
    if (own.request.framework->port_per_task) {
        if (rank0) return {};
        return {ports[own.place.local.value]};
    }
    if (!rank0 || ports.empty()) return {};
    return {ports.begin() + 1, ports.end()};
}

CheckResult check_ports(const CheckFacts& facts) {
    CheckResult result;
    for (const std::uint16_t port : further_ports(*facts.own)) {
        if (check_port(port) != PortState::taken) continue;
        result.findings.push_back({Finding::Weight::fatal,
                                   {formatted("port {} on {}", port, facts.own->plan.node_name),
                                    "already in use", "choose another with the key port=N"}});
    }
    return result;
}

}  // namespace

const NamedCheck ports_check{
    "ports",
    "The other ports on which the framework will listen are free on their node.",
    [](const CheckFacts& facts) { return !further_ports(*facts.own).empty(); },
    check_ports,
};

}  // namespace distgpu
