// Whose word counts in a task. A container's variables are put over a task's environment just
// before its program starts, so what the user exported and what Slurm set for the whole step is
// read before that. Ranks, rendezvous, OMP_NUM_THREADS and visible devices: the user's export
// (ranks never), distgpu, the container. NCCL_*, GLOO_*, UCX_*: the user's export, the container,
// distgpu.
#pragma once

#include "base/environment.h"
#include "base/environment_copy.h"
#include "mapping/plan/plan.h"

#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Those of the step's variables on which more depends than the task's own program, as they are
// before it has tasks.
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

// Where a container differs from what the user exported, or from what distgpu would have set for
// this task, as lines for the user.
std::vector<std::string> container_lines(const std::vector<ContainerSetting>& settings,
                                         const TaskPlan& task);

// The same for `distgpu check`: "NAME:export" where the user's export is used, "NAME:container"
// where the container's value is used and not distgpu's.
std::string container_mark(const std::vector<ContainerSetting>& settings, const TaskPlan& task);

}  // namespace distgpu
