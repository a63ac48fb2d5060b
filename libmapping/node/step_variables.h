// distgpu's variables about a task's step: what srun sent, the layout, the secret; and the launch's
// variables that a container replaces.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "base/secret.h"
#include "mapping/plan/plan.h"
#include "mapping/texts/sent_step.h"

namespace distgpu {

// The SPEC that srun sent, if distgpu did not prepare this task because slurmd on its node has not
// loaded the plugin. nullopt if the task is prepared or srun sent no SPEC.
std::optional<std::string> spec_without_plugin(const Environment& environment);

// The description of the step that srun sends with the SPEC. A loaded plugin would have removed it.
// Empty if srun sent none for this step.
SentStep read_sent_step(const Environment& environment);

// Sets SLURM_DISTGPU_LAYOUT, "17.0 " and the layout's line, if Slurm's variables do not determine
// the layout (heterogeneous, arbitrary, block from Slurm 26.05 on, nodes in another order);
// otherwise removes it. The step id keeps an inner step from using the layout as its own. Omits a
// layout that is too long for a variable (13,000 blocks of an arbitrary one).
void set_layout_variable(Environment& environment, const StepLayout& layout);

// nullopt if the variable has no layout of this step. Error: not what set_layout_variable() writes.
std::optional<Result<StepLayout>> read_layout_variable(const Environment& environment);

// A new secret from the kernel, which srun draws for each step that distgpu prepares. nullopt if
// the kernel gave no random bytes.
std::optional<Secret> draw_secret();

// From SLURM_DISTGPU_SECRET of the task: only its own user can read the environment of a process,
// and distgpu never prints or logs this variable. An inner step that distgpu does not prepare has
// the outer step's secret, which no other user knows either. nullopt if there is none.
std::optional<Secret> read_secret_variable(const Environment& environment);

// NCCL_*, GLOO_*, UCX_*: a container's value may be better than distgpu's.
bool is_network_setting(std::string_view name);

// A network setting to which a container gives another value than the launch.
struct ContainerSetting {
    std::string name;
    std::string value;
    bool is_used = true;  // false if the user exported another value, which is used instead

    bool operator==(const ContainerSetting&) const = default;
};

// A container overwrites a task's variables just before the program starts. Precedence for ranks,
// rendezvous, OMP_NUM_THREADS and visible devices: the user's export (never for ranks), distgpu,
// the container; for NCCL_*, GLOO_*, UCX_*: the user's export, the container, distgpu. Therefore
// this restores in a task's environment what the user exported and what Slurm set for the whole
// step. `launch`: the step's variables before there were tasks. Returns the network settings that a
// container changed, by name.
std::vector<ContainerSetting> restore_launch_variables(Environment& task,
                                                       const EnvironmentCopy& launch);

// The settings in which a container differs from the user's export, or from what distgpu would have
// set for this task: as lines for the user, and as a text for `distgpu check`: "NAME:export" if the
// user's export is used, "NAME:container" if the container's value is used instead of distgpu's.
struct ContainerNotes {
    std::vector<std::string> lines;
    std::string variable_value;  // of container_variable
};
ContainerNotes container_notes(const std::vector<ContainerSetting>& settings, const TaskPlan& task);

}  // namespace distgpu
