// The variables of a task that tell of its step beside Slurm's own: what srun sent, the layout that
// distgpu handed on, the secret, and what of the launch a container has replaced.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "base/secret.h"
#include "mapping/plan/plan.h"
#include "mapping/texts/sent_step.h"

namespace distgpu {

// The SPEC that srun asked for, where nothing prepared this task: Slurm has not loaded the plugin
// on its node. Nothing: the task is prepared, or nobody asked.
std::optional<std::string> unanswered_spec(const Environment& environment);

// What srun sent beside it; the plugin of its node would have removed it. Empty: it sent none for
// this step.
SentStep sent_step(const Environment& environment);

// Sets SLURM_DISTGPU_LAYOUT, "17.0 " and the layout's line, where Slurm's variables do not tell the
// layout (heterogeneous, arbitrary, block from Slurm 26.05 on, nodes in another order), else
// removes it. The step's id keeps a step inside from taking it for its own. A layout that is too
// long for a variable (13,000 blocks of an arbitrary one) is not handed on.
void hand_on_layout(Environment& environment, const StepLayout& layout);

// Nothing: none was handed on for this step. Error: not what hand_on_layout() writes.
std::optional<Result<StepLayout>> handed_layout(const Environment& environment);

// The secret of a step, which srun draws from the kernel where distgpu prepares the step. Nothing:
// the kernel gave none.
std::optional<Secret> draw_secret();

// From SLURM_DISTGPU_SECRET of the task: only its own user can read the environment of a process,
// and nothing prints or logs this variable. A step inside that distgpu does not prepare has that of
// the step around it, which no other user knows either. Nothing: there is none.
std::optional<Secret> handed_secret(const Environment& environment);

// A container's variables are put over a task's just before the program starts. Precedence for
// ranks, rendezvous, OMP_NUM_THREADS and visible devices: the user's export (ranks never), distgpu,
// the container; for NCCL_*, GLOO_*, UCX_*: the user's export, the container, distgpu. So this
// reads, before there are tasks, what the user exported of them and what Slurm set for the whole
// step.
EnvironmentCopy read_launch_variables(const Environment& step);

// NCCL_*, GLOO_*, UCX_*: a container may know better than distgpu.
bool is_network_setting(std::string_view name);

// A network setting that a container has otherwise than the launch.
struct ContainerSetting {
    std::string name;
    std::string value;
    bool used = true;  // false: the user exported another value, which is used

    bool operator==(const ContainerSetting&) const = default;
};

// Puts what the user exported and what Slurm set for the whole step back into a task's environment.
// Result: what a container has brought, by name.
std::vector<ContainerSetting> put_back(Environment& task, const EnvironmentCopy& launch);

// Where a container differs from the user's export, or from what distgpu would have set for this
// task: lines for the user; and a mark for `distgpu check`, "NAME:export" where the user's export
// is used, "NAME:container" where the container's value is used and not distgpu's.
struct ContainerNotes {
    std::vector<std::string> lines;
    std::string mark;
};
ContainerNotes container_notes(const std::vector<ContainerSetting>& settings, const TaskPlan& task);

}  // namespace distgpu
