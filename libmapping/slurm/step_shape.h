// Reads the layout and the shape of a step from the variables of its processes, without asking
// Slurm, and has the options that give a step its shape.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/layout_text.h"
#include "mapping/layout/step_layout.h"
#include "mapping/rendezvous/rendezvous.h"
#include "slurm/slurm_options.h"

namespace distgpu {

// These two functions read only the variables of the step itself: SLURM_STEP_NODELIST,
// SLURM_STEP_TASKS_PER_NODE, SLURM_DISTRIBUTION and SLURM_DIST_PLANESIZE (SLURM_NODELIST,
// SLURM_NTASKS and the like may be the allocation's). `topology_order`: since Slurm 26.05 a block
// step follows the cluster's topology: the order of the switches, or that of slurm.conf, which no
// variable shows. SLURM_JOB_SLUID shows this too: such releases set it in every process of a job,
// and override what its user exported.

// Whether the distribution and the release determine how tasks are distributed over several nodes.
bool is_order_known(const Environment& environment, bool topology_order = false);

// Whether this process is a task of srun. The batch script and salloc's shell are in special steps
// and do not count.
bool is_srun_task(const Environment& environment);

// The layout, if the environment determines it: for one node, cyclic, plane, and block without the
// topology's order (always correct in 60 random shapes on each of 22.05, 24.11 and 26.05). nullopt
// otherwise, as for arbitrary, whose order is not in the environment.
// Errors: variables that Slurm would not set so; a step larger than `max_size`, which is not
// expanded.
Result<std::optional<StepLayout>> derive_layout(const Environment& environment,
                                                StepSize max_size = max_step_size,
                                                bool topology_order = false);

// The layout of a step that srun has just created, from srun's own variables: SLURM_NODELIST and
// SLURM_NNODES are its job's, SLURM_TASKS_PER_NODE, SLURM_NTASKS and SLURM_DISTRIBUTION the step's
// (seen on 22.05, 24.11 and 26.05). nullopt where they do not determine it: a step on some of its
// job's nodes, an arbitrary distribution, block with `topology_order`, --overcommit, a range of
// nodes, a component of a heterogeneous step. `size`: the step's, as SPANK reports it.
std::optional<StepLayout> derive_new_layout(const Environment& environment,
                                            const SlurmOptions& options, StepSize size,
                                            bool topology_order);

// The options' texts; empty if not given.
struct ShapeOptions {
    LayoutText layout{};
    std::string gpus_per_node{};  // --gpus-per-node N: a node's first N; by default all
    std::string gpus{};           // --gpus N: of all nodes together
    std::string gpu_list{};       // --gpu-list 2,3: which of a node's GPUs, by number
    std::string cpus_per_task{};  // --cpus-per-task N
    std::string cpu_masks{};  // --cpu-masks 0-3:4-7: of a node's tasks, or one for all of them; by
                              // default all CPUs of the node
    // The variable that gpus_per_node is from; empty if it is from an option.
    std::string gpus_variable{};

    bool operator==(const ShapeOptions&) const = default;
};

// The order in which the nodes get their tasks.
enum class NodeOrder {
    known,     // given by the options
    of_step,   // this step's, which only slurmctld knows
    topology,  // the topology's, which is unknown before the step starts
};

struct SlurmShape {
    ShapeOptions options;      // the user's, completed
    StepId step{};             // step 0 if this is an allocation
    bool is_own_step = false;  // whether the tasks are those of this step, as Slurm placed them
    NodeOrder order = NodeOrder::known;
    std::vector<std::string> read;  // the variables that were used
};

// Completes the user's options from Slurm's variables. nullopt outside a job, or if the user gave
// nodes with --nodes or --nodelist.
// Errors: the allocation's distribution is arbitrary, whose order is in no variable, and the user
// gave no distribution.
Result<std::optional<SlurmShape>> complete_from_slurm(ShapeOptions options,
                                                      const Environment& environment);

}  // namespace distgpu
