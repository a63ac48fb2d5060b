#include "node/collect.h"

#include "base/format.h"
#include "base/io/name_lookup.h"
#include "base/user_text.h"
#include "node/machine.h"
#include "node/network_interface.h"
#include "node/task_environment.h"

#include <chrono>
#include <utility>

namespace distgpu {
namespace {

// A text that plan() reads as Slurm writes it, where it is one line.
std::optional<std::string> line_of(const Environment& environment, const char* name) {
    constexpr std::size_t longest = std::size_t{1} << 17U;  // Linux's MAX_ARG_STRLEN
    const auto text = environment.get(name);
    return text ? UserText(*text).line(longest) : std::nullopt;
}

std::optional<std::string> rendezvous_variable(const Environment& environment, const char* name) {
    if (!prepared_spec(environment)) return exported(environment, name);
    auto value = environment.get(name);
    return value && !value->empty() ? value : std::nullopt;
}

void find_interface(OwnNode& node, const NodeSource& source) {
    if (source.address.empty()) return;
    NetworkInterface found = interface_of(source.address, Clock::now() + name_patience);
    node.interface = std::move(found.name);
    if (found.unanswered) node.warnings.push_back(no_interface(source.address, source.name));
    if (found.unanswered || found.loopback.empty()) return;
    node.warnings.push_back(
        {source.address,
         formatted("resolves to {} on its own node, so other nodes cannot reach it",
                   found.loopback),
         std::string(source.remedy)});
}

void take_topology(OwnNode& node, const TopologySource& source) {
    const auto begin = Clock::now();
    auto found = find_topology(source);
    if (found) {
        node.topology = std::make_unique<NodeTopology>(std::move(found->topology));
        node.ignored_topology = std::move(found->ignored);
        return;
    }
    node.silent_discovery = Clock::now() - begin >= discovery_time_limit;
    node.warnings.push_back({formatted("topology of {}", host_name()),
                             formatted("{}: {}", found.error().object, found.error().problem),
                             "CPUs, GPUs and network devices stay as Slurm set them"});
}

}  // namespace

Step collect_step(const Environment& environment, StepLayout layout) {
    Step step{std::move(layout)};
    step.facts.cpus_per_node = line_of(environment, "SLURM_JOB_CPUS_PER_NODE").value_or("");
    step.facts.job_name = line_of(environment, "SLURM_JOB_NAME").value_or("");
    step.rendezvous.exported_address = rendezvous_variable(environment, "MASTER_ADDR");
    step.rendezvous.exported_port = rendezvous_variable(environment, "MASTER_PORT");
    step.rendezvous.reserved_ports = line_of(environment, "SLURM_STEP_RESV_PORTS");
    return step;
}

OwnNode find_own_node(const NodeSource& source) {
    OwnNode node;
    find_interface(node, source);
    if (source.topology) take_topology(node, *source.topology);
    return node;
}

NodeFacts collect_facts(const Environment& task, const Environment& launch, const OwnNode& node) {
    NodeFacts facts = read_node_facts(task, launch);
    facts.interface = node.interface;
    facts.topology = node.topology.get();
    return facts;
}

void set_gpus(NodeFacts& facts, const Result<StepGpus>& gpus) {
    if (!gpus) {
        facts.gpu_names.unclear = formatted("{}: {}", gpus.error().object, gpus.error().problem);
        return;
    }
    facts.share.gpus = gpus->indices;
    facts.gpu_names.names = gpus->names;
}

}  // namespace distgpu
