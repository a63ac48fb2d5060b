// The environment variables through which distgpu's parts talk: their names, and what a task began
// with.
#pragma once

#include "mapping/binding/binding.h"

namespace distgpu {

// The SPEC of a step: what a user may export, and what srun sends to the nodes.
inline constexpr const char* spec_variable = "SLURM_DISTGPU";

// What srun tells the nodes about the step (sent_step.h).
inline constexpr const char* sent_variable = "SLURM_DISTGPU_STEP";

// Set where srun's user gave --cpu-bind, for the components of a heterogeneous step, of which
// sent_variable reaches one.
inline constexpr const char* cpu_bind_variable = "SLURM_DISTGPU_CPU_BIND";

// "PORT TOKEN" by which the nodes send srun the rows of `verbose` (verbose_rows.h).
inline constexpr const char* rows_variable = "SLURM_DISTGPU_ROWS";

// The MASTER_ADDR that srun sends for its user: no host, and a text that says why a program finds
// none. It stays only where nothing prepares the task.
inline constexpr const char* not_loaded_address = "distgpu-is-not-loaded-on-this-node";

// "NAME=VALUE NAME=VALUE" of the variables that are the user's where the user exported them: one
// with this value was inherited from an outer step's distgpu.
inline constexpr const char* given_variable = "SLURM_DISTGPU_GIVEN";

// "JOB.STEP SPEC" of a task that distgpu prepared: what was asked for, and in which step.
inline constexpr const char* prepared_variable = "SLURM_DISTGPU_PREPARED";

// "NAME=VALUE NAME=VALUE" of the other variables that the mode gave a prepared task: by these a
// step inside it that did not ask tells them from its user's own (inherited_ranks()).
inline constexpr const char* ranks_variable = "SLURM_DISTGPU_RANKS";

// Slurm's own, which modes replace for Lightning.
inline constexpr const char* slurms_job_name = "SLURM_JOB_NAME";

// What Slurm calls the job, where the mode gave the task another name.
inline constexpr const char* job_name_variable = "SLURM_DISTGPU_JOB_NAME";

// What the task began with: CPUs, GPUs (BoundRecord). Of a task that is prepared.
inline constexpr const char* bound_variable = "SLURM_DISTGPU_BOUND";

// What a container of this task has otherwise than its user or distgpu (node/step_variables.h).
inline constexpr const char* container_variable = "SLURM_DISTGPU_CONTAINER";

// The layout of a step whose tasks cannot derive it (layout_line()).
inline constexpr const char* layout_variable = "SLURM_DISTGPU_LAYOUT";

// What only the tasks of a step know, drawn by srun for `distgpu check` (node/step_variables.h).
inline constexpr const char* secret_variable = "SLURM_DISTGPU_SECRET";

// How Slurm hands the option of sbatch or salloc to the srun inside (plugstack.c).
inline constexpr const char* inherited_variable = "SLURM_SPANK__SLURM_SPANK_OPTION_distgpu_distgpu";

// What a task began with, in its own environment, so that `distgpu explain` can say later what has
// changed since. The kernel does not keep it.

// A GPU of the step, as the task names it: "0", and its PCI address.
struct BoundGpu {
    std::string name;
    std::string pci;

    bool operator==(const BoundGpu&) const = default;
};

struct BoundRecord {
    CpuSet cpus;  // on which the task began; empty: not known
    std::vector<BoundGpu> gpus;

    bool operator==(const BoundRecord&) const = default;
};

// "cpus=0-3 gpus=0@0000:06:00.0,1@0000:07:00.0"; what is not known is left out.
std::string bound_text(const CpuSet& cpus, const NodeFacts& facts);

// The same of a text that its user may have changed: up to 256 GPUs. What is no such text is left
// out.
BoundRecord read_bound(std::string_view text);

}  // namespace distgpu
