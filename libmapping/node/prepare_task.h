// Applies a plan to the process of a task, in which the task's program can then start: for the
// plugin and `distgpu exec` alike.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/plan/plan.h"
#include "mapping/request/request.h"
#include "node/host_helper.h"
#include "node/machine.h"
#include "node/network.h"

#include <functional>

namespace distgpu {

// One line for the user, on standard error.
using Tell = std::function<void(const std::string& line)>;

// Lines for the user alone, in one write: slurmstepd hands on at once what it reads at once.
void show_on_stderr(const std::string& lines);

// One of the tasks of a plan, and what the plan was made of.
struct PlannedTask {
    const Request& request;
    const StepLayout& layout;
    const NodeFacts& facts;
    const NodePlan& plan;
    LocalRank local;
    bool told_by_srun = false;        // what `verbose` says of the step as a whole
    bool first_of_component = false;  // of a heterogeneous step

    const TaskPlan& task() const { return plan.tasks[local.value]; }
};

// The process of a task, as its adapter reaches it.
struct TaskProcess {
    Environment& environment;
    Tell tell;
    std::function<bool(const CpuSet&)> restrict_to = set_affinity;  // false: the kernel refused
    Tell show = show_on_stderr;
};

// Those of the node's ports on which this task's program will listen.
std::vector<std::uint16_t> ports_of(const PlannedTask& task);

// Error: one of `ports`, some of the plan's, is taken. Of a MASTER_PORT that the user exported it
// only warns: the listener may be the user's own store.
std::optional<Error> check_ports(const NodePlan& plan, std::span<const std::uint16_t> ports,
                                 std::vector<Error>& warnings);

// Takes `ports`, some of the plan's, for this step. Error: another step of this user's has one.
std::optional<Error> claim_ports(const NodePlan& plan, std::span<const std::uint16_t> ports,
                                 const std::string& step, PortClaims& claims);

// Announces the task, narrows its CPUs, and sets and unsets its variables. The ports are checked
// before, by the process that can still end the step. `spec`: as the user wrote it.
// Result: what dry-run prints on standard output, and then no program shall run; else empty.
// Errors: a variable that was not taken.
Result<std::string> prepare_task(const PlannedTask& task, std::string_view spec,
                                 TaskProcess& process);

// The verdict of `distgpu check --gate` on the whole step.
enum class StepVerdict {
    ready,
    not_ready,   // as all ranks know
    incomplete,  // ranks are missing, which may not know
};

struct StepCheck {
    std::string command;  // the path of distgpu
    Linker linker = Linker::dropped;
    // For ranks that have not reported; trying the network and asking all takes another 15 s.
    std::chrono::seconds patience{10};
};

// Runs the check just before the task's program would start. It has `own` as its environment,
// judges `task`, the variables of the program, and tells the user what is wrong on standard error.
// Errors: the command could not be started, or ended otherwise.
Result<StepVerdict> run_step_check(HostHelper& helper, const StepCheck& check,
                                   const Environment& own, const Environment& task);

// The key watch: lets every process of the same user look into this one, also once it has become
// the program: Yama keeps the exception with the process and gives it to no child (yama_lsm.c,
// Linux 6.18).
void allow_looks();

struct StepWatch {
    std::string command;  // the path of distgpu
    Linker linker = Linker::dropped;
    Watch watch;
    std::string step;  // "5.0"
};

// Starts `distgpu why STEP --watch`, which ends with this process but is no child of it: the
// program waits for its own children alone. Errors: no such command; it cannot be told when this
// process ends.
Result<std::monostate> start_step_watch(HostHelper& helper, const StepWatch& watch,
                                        const Environment& environment);

}  // namespace distgpu
