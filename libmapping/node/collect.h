// Input of plan() for a step, a node and a task, as far as the step's variables and the machine
// tell it. The plugin and `distgpu exec` both begin here, and add what SPANK or another launcher
// alone knows.
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

// The layout's step. Of a task that distgpu prepared, the rendezvous is that for which it was
// prepared; else only what its user exported counts. A text that is no line is left out.
Step collect_step(const Environment& environment, StepLayout layout);

struct NodeSource {
    std::string address;  // by which the other nodes reach this one; empty: nothing to look for
    std::string name;     // of this node, for a warning
    std::string_view remedy{};                 // where the address leads to the loopback
    std::optional<TopologySource> topology{};  // nothing: the request needs none
};

struct OwnNode {
    std::unique_ptr<const NodeTopology> topology{};  // null: not known, or not needed
    std::string interface {};                        // that has the address; empty: not known
    std::string ignored_topology{};  // why the topology's file was not used; empty: it was
    bool silent_discovery = false;   // it took all its time
    std::vector<Error> warnings{};   // what went wrong, and stays as it is
};

// Looks up a name for up to a second, and may discover the topology, which takes up to 5 s.
OwnNode find_own_node(const NodeSource& source);

// The facts point to the node's topology. `launch`: what a container may have replaced in `task`.
NodeFacts collect_facts(const Environment& task, const Environment& launch, const OwnNode& node,
                        std::uint32_t cpus_per_task);

// Of all tasks of the node together.
CpuSet all_cpus(const SlurmShare& share);

// Error: why it is not clear which they are.
void set_gpus(NodeFacts& facts, const Result<StepGpus>& gpus);

// What the tasks of a node tell each other, in memory that they share until their processes end.
class TaskBoard {
  public:
    // Before the tasks are forked. Without memory nothing is ever known.
    void create(std::size_t tasks);

    // In slurmstepd, for each task: its CPU mask. One that cannot be read stays empty. slurmstepd
    // sets every task's affinity and then calls task_post_fork, before it releases the first of
    // them into task_init (_fork_all_tasks in 22.05, 24.11 and 26.05): so each task finds all.
    void record_cpus(std::size_t local_rank, pid_t task);

    // The masks by local rank. Empty where any is missing.
    std::vector<CpuSet> cpus() const;

    // In a task: the GPUs that Slurm bound to it, indices into NodeTopology::gpus. Empty: they are
    // not known. A task can ask the kernel for its own alone.
    void tell_gpus(LocalRank task, const std::vector<std::uint32_t>& gpus) const;

    // In a task: those of every task, by local rank, once all have told. Nothing: one does not know
    // its own, or did not tell in time.
    std::optional<std::vector<std::vector<std::uint32_t>>> gpus(
        std::chrono::milliseconds time_limit) const;

  private:
    struct Slot;
    Slot* slots_ = nullptr;
    std::size_t tasks_ = 0;
};

// What of a step's GPUs each of its tasks has.
class StepGpuFacts {
  public:
    // user_init: what Slurm set for the whole step, before it binds GPUs to tasks and before a
    // container brings variables. `numbering`: nothing where Slurm does not tell.
    void before_tasks(const Environment& step, std::optional<Numbering> numbering);

    // task_init. Precondition: facts.topology is not null.
    void add_to(NodeFacts& facts, const Environment& task_environment, LocalRank task,
                const TaskBoard& board) const;

  private:
    Result<StepGpus> gpus_of_task(const NodeTopology& topology, const std::string& visible) const;
    bool shared_ = false;  // with other jobs
    std::optional<Numbering> numbering_;
    std::vector<std::string> variables_;
    std::string visible_;
};

}  // namespace distgpu
