// slurmstepd: the facts of a step that requests distgpu, read before its tasks are forked; its
// binding; the start of each task; and the callbacks.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "mapping/plan/plan.h"
#include "mapping/request/request.h"
#include "mapping/texts/sent_step.h"
#include "node/host_helper.h"
#include "node/network.h"
#include "node/node_topology.h"
#include "node/plan_inputs.h"
#include "node/srun_messages.h"
#include "refusal.h"
#include "slurm/plugstack_arguments.h"
#include "spank_access.h"
#include "srun_side.h"

#include <tl/expected.hpp>

#include <sys/types.h>

namespace distgpu {

// ---- The step and this node's identity in it (step_facts.cpp)

// This node's identity in the step, from SPANK's items and, in a heterogeneous step, its layout. A
// variable of a task is trusted only if both leave several possibilities.
struct NodeIdentity {
    std::uint32_t job = 0;  // in a heterogeneous job, this component's
    std::uint32_t step = 0;
    StepSize size;  // in a heterogeneous step, this component's
    bool heterogeneous = false;
    ComponentTasks component;

    // The node in the whole step. Precondition: not heterogeneous.
    LocalTasks whole() const { return to_whole_step(component, {}); }
};

// In init_post_opt.
NodeIdentity read_node_identity(spank_t spank, std::uint32_t step);

struct TaskIdentity {
    LocalTasks node;  // in the whole step
    LocalRank local;

    TaskId task() const { return node.tasks[local.value]; }
};

// In task_init. `offsets`: the possible positions of this component in the whole step. Several are
// distinguished by what Slurm set in the task's environment, unless a container overwrites that.
// Errors: Slurm does not show which task this is.
Result<TaskIdentity> read_task_identity(spank_t spank, const NodeIdentity& identity,
                                        const std::vector<ComponentOffset>& offsets,
                                        bool in_container);

// The layout of a step is the one that srun sent, or else the one that the step's environment
// determines, or else slurmctld's answer to the step's user; all nodes decide alike. Called in
// init_post_opt, as root, the only callback in which an RPC is allowed. nullopt if no query is
// needed, which follows from two numbers of tasks and single words: of what a user can forge, root
// reads no more.
std::optional<Result<StepLayout>> query_layout_if_needed(spank_t spank,
                                                         const NodeIdentity& identity);

// If srun derived what slurmctld knows better.
inline constexpr const char* ask_remedy =
    "start the step again with SLURM_DISTGPU_ASK=1, with which srun asks slurmctld; administrators "
    "can set layout=ask in plugstack.conf";

struct EnabledStep {
    std::string spec;  // as the user wrote it
    Request request;   // with the administrator's defaults in it
    NodeIdentity identity;
    Step step;
    SentStep sent;                 // by srun; its layout has moved to `step`
    bool printed_by_srun = false;  // the lines of `verbose` about the step as a whole
    std::string own_address;       // NodeAddr of this node; empty if unknown
    // The possible positions of this component in the step; one if the step is not heterogeneous.
    std::vector<ComponentOffset> offsets;
    std::optional<SrunAddress> srun;  // nullopt if it does not listen
    std::string command;              // path of distgpu on this node
    EnvironmentCopy launch;           // the step's variables, which a container may replace
    FileRoot root{};                  // outside any container, as init_post_opt sees it
    bool in_jail = false;             // that is not the node's
};

// In user_init: from the step's environment, from what srun sent, and, if srun did not send it,
// from slurm.conf. `answer`: that of query_layout_if_needed().
// Errors: srun refused the step or sent what it never sends; the answer's error; the layout is not
// that of the tasks that Slurm started.
tl::expected<EnabledStep, Failure> collect_enabled_step(spank_t spank, const NodeIdentity& identity,
                                                        Request request, std::string spec,
                                                        const PlugstackArguments& arguments,
                                                        std::optional<Result<StepLayout>> answer);

// ---- The step's facts for binding on this node (step_facts.cpp)

// In slurmd, when it starts: has the node's topology saved for all steps, unless the administrator
// chose another file or save=off. Returns at once, and leaves nothing in slurmd.
void on_slurmd_start(std::span<char*> arguments);

class StepBinding {
  public:
    // In init_post_opt, as root, if an earlier plugin has put slurmstepd into a jail: opens the
    // file with the node's topology outside it. That of the jail may be another node's.
    void open_topology_outside_jail(const PlugstackArguments& arguments);

    // In user_init. `launch`: the step's variables. `request` includes the administrator's
    // defaults. Returns the problems because of which the step stays as Slurm binds it.
    std::vector<Error> read_node(const Environment& launch, const Request& request,
                                 const PlugstackArguments& arguments, std::size_t tasks,
                                 const std::string& address);

    // In task_post_fork, in slurmstepd: records the task's CPUs; has the topology saved if the step
    // did not find it.
    void record_task(spank_t spank);

    // In task_init: the facts for this task. `launch`: variables that a container may have
    // replaced.
    NodeFacts facts_of(spank_t spank, const EnvironmentCopy& launch, LocalRank task) const;

  private:
    OwnNode node_;
    SharedTaskState shared_;
    StepGpuFacts gpus_;
    // The source of a discovery that timed out, until record_discovery_timeout() is called.
    std::optional<TopologySource> unrecorded_timeout_;
    uid_t user_ = 0;  // of that discovery
    std::optional<TopologySource> unsaved_;
    std::optional<TopologySource> outside_jail_;
    UniqueFd opened_;  // its file
};

// ---- The key report: the node's sampler (step_report.cpp)

// Whether this step has a report.
bool has_report(const EnabledStep& enabled);

// The connection over which slurmstepd tells the node's sampler how the tasks end.
class SamplerControl {
  public:
    // In slurmstepd, before it forks the tasks.
    void open();
    void close();

    // For the sampler; slurmstepd closes its own copy when all tasks are forked.
    int sampler_end() const { return sampler_end_.fd(); }
    void close_sampler_end() { sampler_end_ = UniqueFd(); }

    // A task has ended; never waits. `rank`: the task's, unless a launcher in it has several.
    void tell_end(std::uint32_t task, int status, std::optional<GlobalRank> rank) const;

    // All have ended: waits up to a second until the sampler has ended too.
    void finish();

  private:
    UniqueFd own_end_;
    UniqueFd sampler_end_;
};

// ---- A task's own process just before its program (task_start.cpp)

// A task's access to the host, kept in case another plugin puts the task into a container.
struct HostAccess {
    Result<HostHelper> helper;
    EnvironmentCopy variables{};  // of the launch, not changed by an image
    std::string folder{};         // in which the task starts, likewise
};

// In task_init_privileged: whether this task will start a program of the host.
bool needs_host_access(spank_t spank, const EnabledStep& enabled);

// Also in task_init_privileged, after Slurm has put all tasks into their cgroups.
HostAccess open_host_access(spank_t spank);

// In task_init, as the user. Ends the process after a dry run. Returns why the task must not start.
// `task_parent`: of open_task_parent().
// `control`: of the node's sampler.
std::optional<Failure> start_task(spank_t spank, const EnabledStep& enabled,
                                  const StepBinding& binding, std::optional<HostAccess>& host,
                                  const UniqueFd& task_parent, const SamplerControl& control);

// For the node's first task of a step with a report: starts the node's sampler. The step runs even
// if it does not start (step_report.cpp).
void start_report(const EnabledStep& enabled, const HostAccess& host, const TaskIdentity& task,
                  const SamplerControl& control);

// ---- The key signal: a parent between Slurm and the task's program (task_parent.cpp)

bool has_task_parent(const EnabledStep& enabled);

// In task_init_privileged, outside any container: opens the host's distgpu-task
// (tools/distgpu/task), for a step that has it. Not open if the file is missing.
UniqueFd open_task_parent(const EnabledStep& enabled);

// In task_init: returns in a child process, which becomes the task's program, and turns this
// process into `file`. On an error it returns in this process.
std::optional<Error> fork_program(spank_t spank, const EnabledStep& enabled, const UniqueFd& file,
                                  TaskId task);

// ---- The callbacks (stepd_side.cpp)

class StepdSide {
  public:
    // As root, before any other plugin can have put slurmstepd into a jail.
    Outcome on_init(spank_t spank);

    // As root, which reads nothing that a user wrote: keeps the request as unread text, and asks
    // slurmctld if necessary. Never refuses, which would drain the node: records the failure, and
    // the tasks end. `plugin_file`: the path of this plugin, as Slurm found it.
    Outcome on_init_post_opt(spank_t spank, const char* plugin_file,
                             const std::optional<std::string>& option,
                             std::span<const char* const> arguments);

    // As the user, once per node: reads the request and the step. From here on, messages reach
    // srun.
    Outcome on_user_init(spank_t spank);

    // As root, for each task, before any of them continues.
    Outcome on_task_post_fork(spank_t spank);

    // As root, in each task's process, before any plugin's task_init, in which pyxis enters its
    // container: ends a task that must not start, and forks the helper that stays outside.
    Outcome on_task_init_privileged(spank_t spank);

    // As the user, in each task's process, just before execve.
    Outcome on_task_init(spank_t spank);

    // In a task's process, after either callback above: if the task must not start, reports why and
    // ends the process.
    Outcome end_refused_task(spank_t spank);

    // As root, for each task that has ended: tells srun of the first ones. If this node refused the
    // step, ends the step, once.
    Outcome on_task_exit(spank_t spank);

    // A callback threw `what`: the tasks must not start.
    void record_exception(const char* callback, const char* what) noexcept;

  private:
    // The request as unread text, with what only root could find out about it.
    struct UnreadRequest {
        std::string origin;  // "--distgpu", or the variable
        std::string spec;
        bool by_option = false;
        FileRoot root;
        bool in_jail = false;
        std::optional<Result<StepLayout>> layout;  // from query_layout_if_needed()
    };

    void read_request(spank_t spank, UnreadRequest unread);
    void switch_off(spank_t spank, const std::string& spec);
    std::optional<GlobalRank> rank_of(std::optional<std::uint32_t> local) const;
    void report_end(spank_t spank);
    void tell_sampler(spank_t spank, bool is_last);
    void read_step(spank_t spank, Request request, UnreadRequest unread);
    std::optional<Error> check_plan();

    PlugstackArguments arguments_;
    NodeIdentity identity_;
    std::optional<UnreadRequest> unread_request_;  // until user_init reads it
    // Both are empty if distgpu is not requested. A failure may occur before the step is known, or
    // after.
    std::optional<EnabledStep> enabled_step_;
    std::optional<Failure> failure_;
    std::optional<NodePlan> plan_with_ports_;  // of a node on which the framework may listen
    std::optional<Error> off_warning_;         // if the step runs without distgpu
    StepBinding binding_;
    SamplerControl sampler_;
    RefusalNotice notice_;
    std::optional<FileRoot> node_root_;  // only for a step that srun has prepared
    pid_t stepd_ = 0;                    // slurmstepd, set in init_post_opt
    bool is_contained_ = false;          // user_init ran in a separate process: contain_spank
    PortClaims claims_{PortClaims::OnExec::close};
    PortClaims claims_of_task_{PortClaims::OnExec::keep};  // used if is_contained_
    std::vector<Error> warnings_;
    std::size_t forked_tasks_ = 0;
    std::size_t finished_tasks_ = 0;
    std::optional<HostAccess> host_;  // in a task's process
    UniqueFd task_parent_;            // likewise
    bool has_ended_step_ = false;
    // Tasks whose end this node has reported to srun.
    std::uint32_t reported_successes_ = 0;
    std::uint32_t reported_failures_ = 0;
};

}  // namespace distgpu
