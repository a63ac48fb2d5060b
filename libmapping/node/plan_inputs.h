// Inputs of plan() for a step, a node and a task, read from the step's variables and the machine.
// Shared by the plugin and `distgpu exec`, which add what only SPANK or another launcher knows.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/binding/binding.h"
#include "mapping/binding/device_values.h"
#include "mapping/layout/ids.h"
#include "mapping/plan/plan.h"
#include "mapping/topology/cpu_set.h"
#include "mapping/topology/topology.h"
#include "node/gpus.h"
#include "node/machine.h"
#include "node/node_topology.h"

#include <memory>
#include <sys/types.h>

namespace distgpu {

// The step with this layout. If distgpu prepared the task, the rendezvous is the one that it was
// prepared with; otherwise only what its user exported counts. Ignores values with several lines.
Step collect_step(const Environment& environment, StepLayout layout);

struct NodeSource {
    std::string address;  // by which the other nodes reach this one; empty to skip the interface
    std::string name;     // of this node, for a warning
    std::string_view remedy{};                 // if the address resolves to the loopback
    std::optional<TopologySource> topology{};  // nullopt if the request needs no topology
};

struct OwnNode {
    std::unique_ptr<const NodeTopology> topology{};  // null if unknown or not needed
    std::string interface {};                        // that has the address; empty if unknown
    std::string ignored_topology_file{};             // FoundTopology::ignored_file
    bool has_saved_topology = false;                 // FoundTopology::is_saved
    bool discovery_timed_out = false;
    std::vector<Error> warnings{};
};

// Looks up a name for up to a second, and may discover the topology for up to 5 s.
OwnNode find_own_node(const NodeSource& source);

// The facts point to the node's topology. `launch`: variables that a container may have replaced in
// `task`.
NodeFacts collect_facts(const Environment& task, const Environment& launch, const OwnNode& node,
                        std::uint32_t cpus_per_task);

// The CPUs of all tasks of the node together.
CpuSet all_cpus(const SlurmShare& share);

// Sets the task's GPUs, or the reason why they are unknown.
void set_gpus(NodeFacts& facts, const Result<StepGpus>& gpus);

// Memory that the tasks of a node share until their processes end: each task's CPUs and GPUs.
class SharedTaskState {
  public:
    // Before the tasks are forked. Without memory everything stays unknown.
    void create(std::size_t tasks);

    // In slurmstepd, for each task: records its CPU mask; a mask that cannot be read stays empty.
    // slurmstepd sets every task's affinity and then calls task_post_fork, before it releases the
    // first task into task_init (_fork_all_tasks in 22.05, 24.11 and 26.05), so each task sees all.
    void record_cpus(std::size_t local_rank, pid_t task);

    // The masks by local rank. Empty if any is missing.
    std::vector<CpuSet> cpus() const;

    // In a task: publishes the GPUs that Slurm bound to it, as indices into NodeTopology::gpus;
    // empty if unknown. A task can ask the kernel only for its own.
    void publish_gpus(LocalRank task, const std::vector<std::uint32_t>& gpus) const;

    // In a task: waits until all tasks have published their GPUs; returns them by local rank.
    // nullopt if a task does not know its own or did not publish them in time.
    std::optional<std::vector<std::vector<std::uint32_t>>> wait_for_gpus(
        std::chrono::milliseconds time_limit) const;

  private:
    struct Slot;
    Slot* slots_ = nullptr;
    std::size_t tasks_ = 0;
};

// Finds the GPUs of each task among those of the step.
class StepGpuFacts {
  public:
    // In user_init: reads what Slurm set for the whole step, before it binds GPUs to tasks and
    // before a container brings variables. `numbering`: nullopt if Slurm does not report it.
    void read_step(const Environment& step, std::optional<Numbering> numbering);

    // In task_init: sets the task's GPUs. Precondition: facts.topology is not null.
    void set_task_gpus(NodeFacts& facts, const Environment& task_environment, LocalRank task,
                       const SharedTaskState& shared) const;

  private:
    Result<StepGpus> gpus_of_task(const NodeTopology& topology, const std::string& visible) const;
    bool is_shared_with_jobs_ = false;
    std::optional<Numbering> numbering_;
    std::vector<std::string> variables_;
    std::string visible_;
};

}  // namespace distgpu
