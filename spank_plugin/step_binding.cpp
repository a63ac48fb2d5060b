#include "step_binding.h"

#include "mapping/binding/binding_policy.h"
#include "node/machine.h"
#include "node/silent_discovery.h"
#include "slurm_calls.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

TopologySource topology_source(const PlugstackArguments& arguments) {
    TopologySource source{default_topology_file, !arguments.topology.empty(), arguments.command};
    // Its name is looked for among all nodes of slurm.conf.
    const bool by_name = arguments.topology.find("%n") != std::string::npos;
    const std::string name = by_name ? node_name() : std::string();
    if (source.given) source.file = expand_path(arguments.topology, name, host_name());
    if (source.command.empty()) source.command = DISTGPU_COMMAND;
    return source;
}

}  // namespace

std::vector<Error> StepBinding::before_tasks(spank_t spank, const Request& request,
                                             const PlugstackArguments& arguments, std::size_t tasks,
                                             const std::string& address) {
    masks_.create(tasks);
    NodeSource source{
        .address = address,
        .name = short_host_name(),
        .remedy = "remove it from that line of /etc/hosts, or set NodeAddr in slurm.conf"};
    if (needs_topology(request)) {
        source.topology = topology_source(arguments);
        gpus_.before_tasks(StepVariables(spank), tasks, gpu_numbering());
    }
    node_ = find_own_node(source);
    if (!node_.ignored_topology.empty()) {
        slurm_info("distgpu: ignored %s", node_.ignored_topology.c_str());
    }
    // Only root may write down what took all its time.
    if (node_.silent_discovery) {
        silent_ = source.topology;
        user_ = geteuid();
    }
    return node_.warnings;
}

void StepBinding::task_forked(spank_t spank) {
    if (silent_) note_silent(*std::exchange(silent_, std::nullopt), user_);
    const auto local_rank = item(spank, S_TASK_ID);
    pid_t task = 0;
    if (local_rank && spank_get_item(spank, S_TASK_PID, &task) == ESPANK_SUCCESS) {
        masks_.record(*local_rank, task);
    }
}

NodeFacts StepBinding::facts_of(spank_t spank, const EnvironmentCopy& launch,
                                LocalRank task) const {
    const StepVariables variables(spank);
    NodeFacts facts = collect_facts(variables, launch, node_);
    facts.cpus_per_task = item(spank, S_STEP_CPUS_PER_TASK).value_or(0);
    facts.share.cpus_per_task = facts.cpus_per_task;
    facts.share.masks = masks_.read();
    if (facts.topology == nullptr) return facts;
    facts.confined = is_confined(spank, facts.share);
    gpus_.add_to(facts, variables, task);
    return facts;
}

// Slurm counts cores; a mask over more of them was not made for this step alone.
bool StepBinding::is_confined(spank_t spank, const SlurmShare& share) const {
    char* cores = nullptr;
    if (spank_get_item(spank, S_STEP_ALLOC_CORES, &cores) != ESPANK_SUCCESS || cores == nullptr) {
        return false;
    }
    const auto allocated = CpuSet::parse(cores);
    if (!allocated) return false;
    CpuSet mask;
    for (const CpuSet& of_task : share.masks) mask |= of_task;
    const auto used = std::count_if(node_.topology->cores.begin(), node_.topology->cores.end(),
                                    [&](const Core& core) { return core.cpus.intersects(mask); });
    return static_cast<std::uint32_t>(used) <= allocated->count();
}

}  // namespace distgpu
