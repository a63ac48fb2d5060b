// The environment variables that distgpu's parts use among themselves: their names, and the record
// of a task's initial CPUs, GPUs and device variables.
#pragma once

#include "mapping/binding/binding.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// The SPEC of a step: what a user may export, and what srun sends to the nodes.
inline constexpr const char* spec_variable = "SLURM_DISTGPU";

// What srun sends to the nodes about the step (sent_step.h).
inline constexpr const char* sent_step_variable = "SLURM_DISTGPU_STEP";

// Set to 1 by a user: srun asks slurmctld about the step even where it could derive the answer.
inline constexpr const char* ask_variable = "SLURM_DISTGPU_ASK";

// Set if the user gave srun --cpu-bind, for heterogeneous steps: sent_step_variable reaches only
// one of their components.
inline constexpr const char* cpu_bind_variable = "SLURM_DISTGPU_CPU_BIND";

// "PORT TOKEN" with which the nodes of the step send messages to srun (srun_messages.h).
inline constexpr const char* srun_port_variable = "SLURM_DISTGPU_SRUN";

// The MASTER_ADDR that srun sends: not a host, but a text that explains why the program finds none.
// Tasks that distgpu prepares get the real address instead.
inline constexpr const char* not_loaded_address = "distgpu-is-not-loaded-on-this-node";

// "NAME=VALUE NAME=VALUE" of the variables that distgpu set and that users may export: one that
// still has this value was inherited from an outer step's distgpu.
inline constexpr const char* given_variable = "SLURM_DISTGPU_GIVEN";

// "JOB.STEP SPEC" of a task that distgpu prepared.
inline constexpr const char* prepared_variable = "SLURM_DISTGPU_PREPARED";

// "NAME=VALUE NAME=VALUE" of the other variables that the mode set in a prepared task. A nested
// step without distgpu uses it to distinguish them from the user's own
// (inherited_rank_variables()).
inline constexpr const char* ranks_variable = "SLURM_DISTGPU_RANKS";

// Slurm's variable, which modes replace for Lightning.
inline constexpr const char* slurm_job_name_variable = "SLURM_JOB_NAME";

// Slurm's name of the job, if the mode replaced it in the task.
inline constexpr const char* job_name_variable = "SLURM_DISTGPU_JOB_NAME";

// The CPUs, GPUs and device variables with which a prepared task started (BoundRecord).
inline constexpr const char* bound_variable = "SLURM_DISTGPU_BOUND";

// Variables whose value in the task's container differs from the user's or distgpu's
// (node/step_variables.h).
inline constexpr const char* container_variable = "SLURM_DISTGPU_CONTAINER";

// The layout (layout_line()) of a step whose tasks cannot derive it.
inline constexpr const char* layout_variable = "SLURM_DISTGPU_LAYOUT";

// The step's secret, drawn by srun for `distgpu check` (node/step_variables.h).
inline constexpr const char* secret_variable = "SLURM_DISTGPU_SECRET";

// The file of `distgpu run` to which srun's plugin appends why the step ended (run_report.h).
inline constexpr const char* run_report_variable = "SLURM_DISTGPU_REPORT";

// With it, Slurm passes the option of sbatch or salloc to the srun inside (plugstack.c).
inline constexpr const char* inherited_variable = "SLURM_SPANK__SLURM_SPANK_OPTION_distgpu_distgpu";

// The record of what a task started with, in the task's own environment, because the kernel does
// not keep it: `distgpu explain` compares it with the current state. A wrapper that replaces
// CUDA_VISIBLE_DEVICES leaves the record as it is.

struct BoundGpu {
    std::string name;  // in the task: "0"
    std::string pci;   // PCI address

    bool operator==(const BoundGpu&) const = default;
};

// A variable that selects GPUs or network devices.
struct BoundVariable {
    std::string name;
    std::optional<std::string>
        value{};            // nullopt if it was set, but to a text that is not recorded
    bool is_given = false;  // set by distgpu; otherwise by the user, Slurm or an image

    bool operator==(const BoundVariable&) const = default;
};

struct BoundRecord {
    CpuSet cpus;  // on which the task started; empty if unknown
    std::vector<BoundGpu> gpus;
    // Those of bound_variables() that were set; nullopt in a record of version 1.
    std::optional<std::vector<BoundVariable>> variables{};

    bool operator==(const BoundRecord&) const = default;
};

// The names of the variables that are recorded.
std::span<const std::string_view> bound_variables();

// "v2 cpus=0-3 gpus=0@0000:06:00.0,1@0000:07:00.0 given.CUDA_VISIBLE_DEVICES=1,0
// kept.UCX_NET_DEVICES=mlx5_0:1". Parts that are unknown are left out, as is the value of a
// variable that is longer than 1 KiB or not printable ("kept.NAME"). Readers skip parts that they
// do not know.
std::string bound_record_text(const CpuSet& cpus, const NodeFacts& facts,
                              std::span<const BoundVariable> variables);

// Parses such a text, which the user may have changed: at most 256 GPUs, and each of
// bound_variables() once; invalid parts are skipped.
BoundRecord read_bound_record(std::string_view text);

}  // namespace distgpu
