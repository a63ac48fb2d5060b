// See look.h.
#include "check/look.h"

#include "base/format.h"
#include "base/host_and_port.h"
#include "check/fabric.h"
#include "check/gpus.h"
#include "check/network.h"
#include "check/variables.h"
#include "node/affinity.h"
#include "node/host_name.h"
#include "node/port_check.h"
#include "task/process_environment.h"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using Weight = Finding::Weight;

void add(Findings& findings, Findings more) {
    findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
}

bool runs_rank0(const OwnTask& own) {
    return own.place.node == rank0_node(own.place.layout);
}

// Ports besides the rendezvous's own on which this task's program will listen.
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

Findings check_further_ports(const OwnTask& own) {
    Findings findings;
    for (const std::uint16_t port : further_ports(own)) {
        if (check_port(port) != PortState::taken) continue;
        findings.push_back({Weight::fatal,
                            {formatted("port {} on {}", port, own.plan.node_name), "already in use",
                             "give another with the key port=N"}});
    }
    return findings;
}

// What the call found; without an answer at the deadline an empty value, and a finding.
template <class Call>
auto guarded(Findings& findings, Deadline deadline, const char* what, Call call) {
    auto found = within(deadline, std::move(call));
    if (found) return *std::move(found);
    findings.push_back(
        {Weight::fatal, {what, "does not end", "look at the kernel's log on that node: dmesg"}});
    return typename decltype(found)::value_type{};
}

std::string interface_of_task(const Environment& environment, const OwnTask& own) {
    std::string named = environment.get("NCCL_SOCKET_IFNAME").value_or("");
    if (named.empty()) return own.node.facts.interface;
    return named.front() == '=' ? named.substr(1) : named;  // '=': the whole name is meant
}

}  // namespace

Report look(const Environment& environment, const std::shared_ptr<const OwnTask>& own,
            Deadline deadline) {
    Report report;
    report.rank = own->task().rank.value;
    report.node = own->place.node.value;
    const Rendezvous rendezvous = own->plan.rendezvous;
    report.rendezvous = host_and_port(rendezvous.address, rendezvous.port);
    report.interface = interface_of_task(environment, *own);
    report.findings = check_variables(environment, *own);
    add(report.findings, check_further_ports(*own));
    KernelCpuSet mask{};
    if (read_affinity(0, mask)) {
        const CpuSet cpus = CpuSet::from_words(mask);
        report.cpus = cpus.to_string();
        add(report.findings, check_cpus(environment, cpus));
    }
    const GpuCheck gpus = guarded(report.findings, deadline, "opening the GPUs", [own] {
        return check_gpus(ProcessEnvironment(), own->node.topology.get());
    });
    report.gpus = gpus.gpus;
    add(report.findings, gpus.findings);
    const FabricCheck fabric = guarded(report.findings, deadline, "opening the HCAs", [own] {
        return check_fabric(ProcessEnvironment(), own->node.topology.get(), fabric_access());
    });
    report.ports = fabric.ports;
    add(report.findings, fabric.findings);
    add(report.findings, check_interfaces(environment, usable_interfaces()));
    add(report.findings, guarded(report.findings, deadline, "looking up names", [=] {
            const NameCheck node{host_name(), own->place.layout.node_count() > 1, runs_rank0(*own)};
            return check_names(ProcessEnvironment(), node, rendezvous, deadline);
        }));
    return report;
}

}  // namespace distgpu
