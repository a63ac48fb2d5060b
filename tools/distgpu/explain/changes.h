// What of a rank is otherwise than when its task began, or than distgpu gave or plans it. Pure.
#pragma once

#include "base/environment_copy.h"
#include "inspect/rank_facts.h"
#include "mapping/plan/plan.h"
#include "mapping/topology/cpu_set.h"

#include <string_view>
#include <vector>

namespace distgpu {

// Whether a variable is one of those that distgpu, a framework's mode or a launcher sets, or by
// which users tune communication and threads: NCCL_*, GLOO_*, UCX_*, OMP_*, CUDA_* and their like.
bool is_told_of(std::string_view name);

// Whether all ranks of a step have the same of it, as far as distgpu and the launchers decide.
bool is_of_step(std::string_view name);

// Those of an environment, by name. A long value is cut, and ends with its length and a number that
// tells it from others.
std::vector<Variable> variables_told_of(const EnvironmentCopy& environment);

struct RankEnvironments {
    const EnvironmentCopy& task;     // of the task's first process
    const EnvironmentCopy& rank;     // of the rank's
    const Framework* framework;      // of the mode; null: distgpu did not prepare the step
    const TaskPlan* plan = nullptr;  // of the task; null: not known
};

// Of variables, by name, each once. What a launcher gives the ranks that it starts is no change.
std::vector<Change> changed_variables(const RankEnvironments& environments);

// Of CPUs; nothing: they are the same, or one of them is not known.
std::vector<Change> changed_cpus(const CpuSet& then, const CpuSet& now);

}  // namespace distgpu
