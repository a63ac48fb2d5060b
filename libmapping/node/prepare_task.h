// Applies a plan to a task's process before the task's program starts in it; shared by the plugin
// and `distgpu exec`.
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

// Prints one or more lines for the user, on standard error.
using Print = std::function<void(const std::string& lines)>;

// Prints lines for the user alone, in one write: slurmstepd forwards at once what it reads at once.
void print_to_stderr(const std::string& lines);

// One task of a plan, with the inputs of the plan.
struct PlannedTask {
    const Request& request;
    const StepLayout& layout;
    const NodeFacts& facts;
    const NodePlan& plan;
    LocalRank local;
    bool printed_by_srun = false;        // the lines of `verbose` about the step as a whole
    bool is_first_of_component = false;  // of a heterogeneous step

    const TaskPlan& task() const { return plan.tasks[local.value]; }
};

// Access to the process of a task, which differs between the adapters.
struct TaskProcess {
    Environment& environment;
    Print print_line;
    std::function<bool(const CpuSet&)> restrict_to = set_affinity;  // false if the kernel refuses
    Print print_table = print_to_stderr;
};

// The ports of the node on which this task's program will listen.
std::vector<std::uint16_t> listening_ports(const PlannedTask& task);

// Error: one of `ports`, which are some of the plan's, is in use. Only warns about a MASTER_PORT
// that the user exported: the listener may be the user's own store.
std::optional<Error> check_ports(const NodePlan& plan, std::span<const std::uint16_t> ports,
                                 std::vector<Error>& warnings);

// Claims `ports`, which are some of the plan's, for this step. Error: another step of this user has
// one of them.
std::optional<Error> claim_ports(const NodePlan& plan, std::span<const std::uint16_t> ports,
                                 const std::string& step, PortClaims& claims);

// Prints the task's lines, narrows its CPUs, and sets and unsets its variables. The ports were
// checked before, by a process that could still end the step. `spec`: as the user wrote it.
// Returns what dry-run prints on standard output, after which no program may run; otherwise an
// empty text. Errors: a variable could not be set.
Result<std::string> prepare_task(const PlannedTask& task, std::string_view spec,
                                 TaskProcess& process);

// The verdict of `distgpu check --gate` on the whole step.
enum class StepVerdict {
    ready,
    not_ready,   // all ranks got this verdict
    incomplete,  // some ranks did not report and may not know the verdict
};

struct StepCheck {
    std::string command;  // the path of distgpu
    LdVariables ld_variables = LdVariables::removed;
    // How long to wait for reports; testing the network and asking all ranks takes another 15 s.
    std::chrono::seconds patience{10};
    bool in_container = false;  // the task is in one
};

// Runs the check just before the task's program would start. It runs with `own` as its environment,
// checks `task`, the variables of the program, and prints its findings to standard error.
// Errors: the command could not be started, or ended with an unexpected status.
Result<StepVerdict> run_step_check(HostHelper& helper, const StepCheck& check,
                                   const Environment& own, const Environment& task);

// The key signal: whether a parent of the task's program passes Slurm's signals on to the ranks.
// For a service `distgpu exec` does so itself. Precondition: the request has a framework.
bool has_task_parent(const Request& request);

// The key watch: lets every process of the same user trace this one, also after it has become the
// program: Yama keeps the exception with the process and does not pass it to children (yama_lsm.c,
// Linux 6.18).
void allow_tracing();

struct StepWatch {
    std::string command;  // the path of distgpu
    LdVariables ld_variables = LdVariables::removed;
    Watch watch;
    std::string step;  // "5.0"
};

// Starts `distgpu why STEP --watch`, which ends with this process but is not its child, because the
// program may wait for its children. Errors: the command does not exist; the kernel has no pidfd by
// which it can see this process end.
Result<std::monostate> start_step_watch(HostHelper& helper, const StepWatch& watch,
                                        const Environment& environment);

}  // namespace distgpu
