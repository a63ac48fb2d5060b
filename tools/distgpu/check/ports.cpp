// Whether the ports are free on which this task's program will listen besides the rendezvous's own,
// at which rank 0 listens itself.
#include "check/ports.h"

#include "base/format.h"
#include "check/check_list.h"
#include "mapping/frameworks/framework.h"
#include "node/port_check.h"

#include <cstdint>
#include <vector>

namespace distgpu {
namespace {

// A prepared task has its port in MASTER_PORT, whoever chose it.
PortSource likely_source(const OwnTask& own) {
    if (own.request.port) return PortSource::key;
    const bool is_derived =
        own.plan.rendezvous.port == derived_port(own.place.step, default_ports, 1);
    return is_derived ? PortSource::derived : own.plan.rendezvous.port_source;
}

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
                                    "already in use", taken_port_remedy(*facts.own)}});
    }
    return result;
}

}  // namespace

std::string taken_port_remedy(const OwnTask& own) {
    return std::string(taken_port_remedy(likely_source(own)));
}

const NamedCheck ports_check{
    "ports",
    "The other ports on which the framework will listen are free on their node.",
    [](const CheckFacts& facts) { return !further_ports(*facts.own).empty(); },
    check_ports,
};

}  // namespace distgpu
