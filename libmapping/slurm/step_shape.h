// The layout and the shape of a step, as the variables of its processes tell them, without asking
// anybody, and the options that give a step its shape.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/layout_text.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"

namespace distgpu {

// Of a step, the variables that describe the step itself are read: SLURM_STEP_NODELIST,
// SLURM_STEP_TASKS_PER_NODE, SLURM_DISTRIBUTION and SLURM_DIST_PLANESIZE (SLURM_NODELIST,
// SLURM_NTASKS and their like may be the allocation's). `topology_order`: from Slurm 26.05 on a
// block step follows the cluster's topology: the order of the switches, or that of slurm.conf,
// which no variable tells. There Slurm also sets SLURM_JOB_SLUID in every process of a job, over
// whatever its user exported, which says the same.

// Whether the distribution and the release determine how tasks are dealt to several nodes.
bool tells_order(const Environment& environment, bool topology_order = false);

// Whether this process is a task of srun. The batch script and the shell of salloc are in steps of
// their own.
bool in_step_of_tasks(const Environment& environment);

// The layout, where the environment determines it for certain: one node, cyclic and plane, and
// block without the topology's order (no wrong one in 60 random shapes on each of 22.05, 24.11 and
// 26.05). Nothing for arbitrary, whose order the environment does not hold.
// Errors: variables that Slurm did not set so, or that tell of a larger step than `most`, which
// are not expanded.
Result<std::optional<StepLayout>> derive_layout(const Environment& environment,
                                                StepSize most = max_step_size,
                                                bool topology_order = false);

// The options' texts; empty where one was not given.
struct ShapeOptions {
    LayoutText layout{};
    std::string gpus_per_node{};  // --gpus-per-node N: a node's first N; by default all it has
    std::string gpus{};           // --gpus N: of all nodes together
    std::string gpu_list{};       // --gpu-list 2,3: which of a node's GPUs, by number
    std::string cpus_per_task{};  // --cpus-per-task N
    std::string cpu_masks{};      // --cpu-masks 0-3:4-7: of a node's tasks; one for all; by default
                                  // all the CPUs that the node has
    // Where gpus_per_node was written; empty: in an option.
    std::string gpus_variable{};

    bool operator==(const ShapeOptions&) const = default;
};

// In which order the nodes get their tasks.
enum class NodeOrder {
    known,     // the options hold it
    of_step,   // this step's, which only slurmctld knows
    topology,  // the topology's, which nobody knows before the step starts
};

struct SlurmShape {
    ShapeOptions options;   // what the user gave, completed
    StepId step{};          // of an allocation its step 0
    bool own_step = false;  // the tasks of this step, as Slurm placed them
    NodeOrder order = NodeOrder::known;
    std::vector<std::string> read;  // the variables that had a part in it
};

// Completes what the user did not give. With nodes of their own, --nodes or --nodelist, nothing is
// read. Nothing: not in a job.
// Errors: an arbitrary distribution of an allocation, whose order stands in no variable, and none
// was given.
Result<std::optional<SlurmShape>> complete_from_slurm(ShapeOptions options,
                                                      const Environment& environment);

}  // namespace distgpu
