// slurmstepd: the step that asked for distgpu, as it is known before its tasks are forked; its
// binding; the start of each task; and what each callback does for it.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "mapping/plan/plan.h"
#include "mapping/request/request.h"
#include "mapping/texts/sent_step.h"
#include "node/collect.h"
#include "node/host_helper.h"
#include "node/network.h"
#include "node/node_topology.h"
#include "refusal.h"
#include "slurm/plugstack_arguments.h"
#include "spank_access.h"
#include "srun_side.h"

#include <tl/expected.hpp>

#include <sys/types.h>

namespace distgpu {

// ---- The step and who this node is in it (asked_step.cpp)

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

// The layout of a step is what srun sent, else what the step's environment tells for certain, else
// what slurmctld answers the step's user: each node decides alike. In init_post_opt, as root, where
// alone an RPC is allowed. Nothing: nobody has to ask, as two numbers of tasks and single words
// show; root reads no more of what a user can forge.
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

// In user_init: from the step's environment, from what srun sent, and from slurm.conf what it did
// not send. `answer`: that of ask_for_layout().
// Errors: srun has refused the step, or sent what it never does; the answer's; a layout that is not
// the one that Slurm started.
tl::expected<AskedStep, Failure> collect_asked_step(spank_t spank, const Identity& identity,
                                                    Request request, std::string spec,
                                                    const PlugstackArguments& arguments,
                                                    std::optional<Result<StepLayout>> answer);

// ---- What binding needs to know of a step on this node (asked_step.cpp)

class StepBinding {
  public:
    // user_init. `request` has the administrator's defaults in it. Returns what went wrong, where
    // the step is left as Slurm binds it.
    std::vector<Error> before_tasks(spank_t spank, const Request& request,
                                    const PlugstackArguments& arguments, std::size_t tasks,
                                    const std::string& address);

    // task_post_fork, in slurmstepd.
    void task_forked(spank_t spank);

    // task_init: of this task. `launch`: what a container may have replaced.
    NodeFacts facts_of(spank_t spank, const EnvironmentCopy& launch, LocalRank task) const;

  private:
    OwnNode node_;
    TaskBoard board_;
    StepGpuFacts gpus_;
    std::optional<TopologySource> unrecorded_timeout_;  // of its discovery, for note_silent()
    uid_t user_ = 0;
};

// ---- A task's own process just before its program (task_start.cpp)

// What a task keeps of the host, should another plugin put it into a container.
struct HostSide {
    Result<HostHelper> helper;
    EnvironmentCopy variables;  // of the launch, which no image has changed
};

// In task_init_privileged: whether this task will have a program of the host's started.
bool needs_host_side(spank_t spank, const AskedStep& asked);

// There too, once Slurm has put all tasks into their cgroups.
HostSide keep_host_side(spank_t spank);

// In task_init, as the user. Ends the process after a dry run. Returns why the task must not start.
std::optional<Failure> start_task(spank_t spank, const AskedStep& asked, const StepBinding& binding,
                                  std::optional<HostSide>& host);

// ---- The callbacks (stepd_side.cpp)

class StepdSide {
  public:
    // init_post_opt, as root, who reads nothing that a user wrote: what was asked for is kept as it
    // is, and slurmctld asked where it must be. Never refuses (that would drain the node): what
    // goes wrong is recorded, and the tasks end.
    Outcome options_read(spank_t spank, const std::optional<std::string>& option,
                         std::span<const char* const> arguments);

    // user_init, as the user, once a node: reads the request and the step. Messages reach srun from
    // here on.
    Outcome before_tasks(spank_t spank);

    // task_post_fork, as root, for each task before any of them goes on.
    Outcome task_forked(spank_t spank);

    // task_init_privileged, as root, in each task's process before any plugin's task_init, in which
    // pyxis enters its container: ends a task that must not start, and forks what stays outside.
    Outcome before_container(spank_t spank);

    // task_init, as the user, in each task's process just before execve.
    Outcome in_task(spank_t spank);

    // The same process: where the task must not start, tells the user why and ends.
    Outcome end_refused_task(spank_t spank);

    // task_exit, as root, for each task that has ended. Ends the step once if it was refused here.
    Outcome task_ended(spank_t spank);

    // A callback threw `what`: the tasks must not start.
    void broke(const char* callback, const char* what) noexcept;

  private:
    // What was asked for, unread, and what only root could find out about it.
    struct Asked {
        std::string origin;  // "--distgpu", or the variable
        std::string spec;
        bool by_option = false;
        FileRoot root;
        std::optional<Result<StepLayout>> layout;  // that of ask_for_layout()
    };

    void read_request(spank_t spank, Asked asked);
    void switch_off(spank_t spank, const std::string& spec);
    void learn(spank_t spank, Request request, Asked asked);
    std::optional<Error> check_plan();

    PlugstackArguments arguments_;
    Identity identity_;
    std::optional<Asked> request_;  // until user_init reads it
    // Both empty: not asked for. A failure may come before the step is known, or after.
    std::optional<AskedStep> asked_;
    std::optional<Failure> failure_;
    std::optional<NodePlan> plan_with_ports_;  // of a node on which the framework may listen
    std::optional<Error> unprepared_;  // what the user is told of a step that runs without distgpu
    StepBinding binding_;
    RefusalNotice notice_;
    pid_t stepd_ = 0;            // slurmstepd, from init_post_opt on
    bool is_contained_ = false;  // user_init ran in a process of its own: contain_spank
    PortClaims claims_{PortClaims::Heirs::none};
    PortClaims claims_of_task_{PortClaims::Heirs::programs};  // where it is contained
    std::vector<Error> warnings_;
    std::size_t forked_ = 0;        // tasks
    std::size_t finished_ = 0;      // tasks
    std::optional<HostSide> host_;  // in a task's process
    bool ended_ = false;
};

}  // namespace distgpu
