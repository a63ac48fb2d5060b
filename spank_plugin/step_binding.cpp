// See step_binding.h.
#include "step_binding.h"

#include "base/format.h"
#include "base/io/name_lookup.h"
#include "mapping/binding/binding_policy.h"
#include "node/machine.h"
#include "node/network_interface.h"
#include "node/silent_discovery.h"
#include "slurm_calls.h"

#include <algorithm>
#include <chrono>
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
    std::vector<Error> warnings = find_interface(address);
    if (!needs_topology(request)) return warnings;
    gpus_.before_tasks(StepVariables(spank), tasks, gpu_numbering());
    auto found = find_topology(topology_source(arguments));
    if (!found) {
        warnings.push_back({formatted("topology of {}", host_name()),
                            formatted("{}: {}", found.error().object, found.error().problem),
                            "CPUs, GPUs and network devices stay as Slurm set them"});
        return warnings;
    }
    if (!found->ignored.empty()) slurm_info("distgpu: ignored %s", found->ignored.c_str());
    topology_ = std::move(found->topology);
    return warnings;
}

// What took all its time is remembered, which only root may write down.
Result<FoundTopology> StepBinding::find_topology(const TopologySource& source) {
    const auto begin = std::chrono::steady_clock::now();
    auto found = distgpu::find_topology(source);
    if (!found && std::chrono::steady_clock::now() - begin >= discovery_time_limit) {
        silent_ = source;
        user_ = geteuid();
    }
    return found;
}

std::vector<Error> StepBinding::find_interface(const std::string& address) {
    if (address.empty()) return {};
    NetworkInterface found = interface_of(address, Clock::now() + name_patience);
    interface_ = std::move(found.name);
    if (found.unanswered) return {no_interface(address, node_name())};
    if (found.loopback.empty()) return {};
    return {{address,
             formatted("resolves to {} on its own node, so other nodes cannot reach it",
                       found.loopback),
             "remove it from that line of /etc/hosts, or set NodeAddr in slurm.conf"}};
}

void StepBinding::task_forked(spank_t spank) {
    if (silent_) note_silent(*std::exchange(silent_, std::nullopt), user_);
    const auto local_rank = item(spank, S_TASK_ID);
    pid_t task = 0;
    if (local_rank && spank_get_item(spank, S_TASK_PID, &task) == ESPANK_SUCCESS) {
        masks_.record(*local_rank, task);
    }
}

void StepBinding::add_to(NodeFacts& facts, spank_t spank, LocalRank task) const {
    facts.interface = interface_;
    facts.share.masks = masks_.read();
    facts.share.cpus_per_task = facts.cpus_per_task;
    if (!topology_) return;
    facts.topology = &*topology_;
    facts.confined = is_confined(spank, facts.share);
    gpus_.add_to(facts, StepVariables(spank), task);
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
    const auto used = std::count_if(topology_->cores.begin(), topology_->cores.end(),
                                    [&](const Core& core) { return core.cpus.intersects(mask); });
    return static_cast<std::uint32_t>(used) <= allocated->count();
}

}  // namespace distgpu
