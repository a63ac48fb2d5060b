// A task's environment: the facts of its node and user in it, the plan applied to it, and how it
// differs from the plan.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/plan/plan.h"

#include <variant>

namespace distgpu {

// Whether distgpu leaves the variable alone if the user exported it. Not for the rendezvous.
bool is_user_settable(std::string_view name);

// The value of a variable that the user exported: not empty, not inherited from what distgpu gave
// the tasks of an outer step, and not the placeholder of srun (not_loaded_address).
std::optional<std::string> exported(const Environment& environment, std::string_view name);

// A number of CPUs of this node. nullopt if unset, not a number, 0, or more than a node can have,
// so that no sum or quotient goes wrong.
std::optional<std::uint32_t> cpu_count(const Environment& environment, const std::string& name);

// The step's GPUs and CPUs on this node, from what Slurm set in the task's environment, and the
// variables that the user exported at launch or a container brought. Leaves CPUs per task unknown.
NodeFacts read_node_facts(const Environment& task, const Environment& launch);

// Removes the variables that carried the request here, so that an inner step makes its own.
void remove_request_variables(Environment& environment);

// "JOB.STEP ", the prefix of values that are only for the tasks of this step.
std::string step_prefix(const Environment& environment);

// Sets and removes the variables of the task with this local rank, and marks it as prepared by
// `spec`. Errors: a variable could not be set.
Result<std::monostate> set_task_environment(Environment& environment, std::string_view spec,
                                            const NodePlan& plan, LocalRank local);

// The variables of its mode that a task still has with distgpu's values: its rank, the world size,
// the rendezvous, and the variables of Slurm that it replaced. They are wrong in every other step.
std::vector<std::string> inherited_rank_variables(const Environment& task);

// Slurm's name of the job, even if a mode gave this task another one. nullopt if unknown.
std::optional<std::string> original_job_name(const Environment& task);

// The SPEC by which distgpu prepared this task. nullopt if it did not, or if it prepared only an
// outer step whose variables this one inherited.
std::optional<std::string> prepared_spec(const Environment& environment);

struct Difference {
    std::string name;
    std::optional<std::string> present;  // nullopt if unset or empty
    std::optional<std::string> planned;  // nullopt if to be removed

    bool operator==(const Difference&) const = default;
};

// Variables of the framework that are missing, should have been removed, or hold another rank or
// size than planned. Does not compare other values, or variables that the user may have set.
std::vector<Difference> differences_from_plan(const Environment& environment, const TaskPlan& task);

}  // namespace distgpu
