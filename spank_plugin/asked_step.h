// A step whose user asked for distgpu, as slurmstepd knows it before the tasks are forked: who this
// node is in it, where its layout comes from, and what plan() is told of it.
#pragma once

#include "base/environment_copy.h"
#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "mapping/plan/step.h"
#include "mapping/request/request.h"
#include "mapping/texts/layout_check.h"
#include "mapping/texts/sent_step.h"
#include "refusal.h"
#include "slurm/plugstack_arguments.h"
#include "spank_access.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

// Who this node is: what SPANK's items say, and of a heterogeneous step its layout. A variable of a
// task is believed only where both leave several answers.
struct Identity {
    std::uint32_t job = 0;  // of a heterogeneous job: this component's
    std::uint32_t step = 0;
    StepSize size;  // of a heterogeneous step: this component's
    bool heterogeneous = false;
    ComponentTasks component;

    // The node in the whole step. Precondition: not heterogeneous.
    LocalTasks whole() const { return in_step(component, {}); }
};

// In init_post_opt.
Identity read_identity(spank_t spank, std::uint32_t step);

struct TaskIdentity {
    LocalTasks node;  // in the whole step
    LocalRank local;

    TaskId task() const { return node.tasks[local.value]; }
};

// In task_init. `offsets`: where this component can stand in the whole step. Several of them are
// told apart by what Slurm set in the task's environment, unless a container is put over it.
// Errors: Slurm does not tell which task this is.
Result<TaskIdentity> read_task_identity(spank_t spank, const Identity& identity,
                                        const std::vector<ComponentOffset>& offsets,
                                        bool in_container);

// Gives the task Slurm's own numbers again, over a container's.
void set_slurm_numbers(spank_t spank, const TaskIdentity& task);

// The layout of a step is what srun sent, else what the step's environment tells for certain, else
// what slurmctld answers: each node decides alike. In init_post_opt, where alone an RPC is allowed,
// as root: what slurmctld answers the step's user.
// Nothing: nobody has to ask, as far as two numbers of tasks and single words show; root reads no
// more of what a user can forge.
std::optional<Result<StepLayout>> ask_for_layout(spank_t spank, const Identity& identity);

struct AskedStep {
    std::string spec;  // as the user wrote it
    Request request;   // with the administrator's defaults in it
    Identity identity;
    Step step;
    SentStep sent;              // by srun; its layout is the step's
    bool told_by_srun = false;  // what `verbose` says of the step as a whole
    std::string own_address;    // NodeAddr of this node; empty: not known
    // Where this component can stand in the step; one, where it is not heterogeneous.
    std::vector<ComponentOffset> offsets;
    std::string command;     // of distgpu, on this node
    EnvironmentCopy launch;  // what a container may replace
    FileRoot root{};         // outside any container, as init_post_opt sees it
};

// From the step's environment, from what srun sent with the layout, and from slurm.conf what srun
// did not send. In user_init. `answer`: that of ask_for_layout().
// Errors: srun has refused the step, or sent what it never does; the answer's; a layout that is not
// the one that Slurm started.
tl::expected<AskedStep, Failure> collect_asked_step(spank_t spank, const Identity& identity,
                                                    Request request, std::string spec,
                                                    const PlugstackArguments& arguments,
                                                    std::optional<Result<StepLayout>> answer);

}  // namespace distgpu
