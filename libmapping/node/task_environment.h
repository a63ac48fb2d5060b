// What a task's environment says of its node and its user, the plan applied to it, and how it
// differs from the plan.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/plan/plan.h"

#include <variant>

namespace distgpu {

// Variables that stay as they are where the user exported them, but for the rendezvous.
std::vector<std::string_view> users_own();

// A variable that the user exported: set, not empty, and neither what distgpu gave the tasks of an
// outer step from which it was inherited, nor what srun sent (not_loaded_address).
std::optional<std::string> exported(const Environment& environment, std::string_view name);

// A variable that counts CPUs of this node. Nothing: unset, another text, 0, or more than a node
// can have, so that no sum or quotient goes wrong.
std::optional<std::uint32_t> cpu_count(const Environment& environment, const std::string& name);

// GPUs and CPUs of the step on this node, from what Slurm set in the task's environment, and what
// its user exported with the launch, or a container brought. CPUs per task are left unknown.
NodeFacts read_node_facts(const Environment& task, const Environment& launch);

// Removes the variables that carried the request here, so that a step inside asks anew.
void remove_request(Environment& environment);

// "JOB.STEP ", the beginning of what is handed on to the tasks of this step alone.
std::string step_mark(const Environment& environment);

// Sets and removes the variables of the task with this local rank, and marks it as prepared by
// `spec`.
// Errors: a variable that was not taken.
Result<std::monostate> set_task_environment(Environment& environment, std::string_view spec,
                                            const NodePlan& plan, LocalRank local);

// The variables of its mode that a task still has as distgpu gave them: its rank, the step's size
// and where it meets, and what of Slurm's it replaced. They are wrong in every other step.
std::vector<std::string> inherited_ranks(const Environment& task);

// What Slurm calls the job, also where a mode gave this task another name. Nothing: it is not
// known.
std::optional<std::string> own_job_name(const Environment& task);

// The SPEC by which distgpu prepared this task; nothing: it did not, or only an outer step whose
// variables this one inherited.
std::optional<std::string> prepared_spec(const Environment& environment);

struct Difference {
    std::string name;
    std::optional<std::string> present;  // nothing: not set, or empty
    std::optional<std::string> planned;  // nothing: to be removed

    bool operator==(const Difference&) const = default;
};

// Variables of the framework that are missing, should have been removed, or hold another rank or
// size than planned. Other values are not compared, nor variables that may be the user's own.
std::vector<Difference> differences(const Environment& environment, const TaskPlan& task);

}  // namespace distgpu
