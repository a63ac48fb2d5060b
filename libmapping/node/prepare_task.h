// From a node's plan to a process in which the task's program can start: the one hand by which
// every adapter applies a plan. An adapter adds where its facts come from, and how it speaks to the
// user.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/plan/plan.h"
#include "node/affinity.h"
#include "node/port_claim.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// One line for the user, on standard error.
using Tell = std::function<void(const std::string& line)>;

// Lines that belong together, in one write: slurmstepd hands what it reads at once on at once. They
// are for the user alone, and for no log.
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

// Whether the framework can listen on `ports`, some of the plan's. Error: one is taken. Of a
// MASTER_PORT that the user exported it only warns: the listener may be the user's own store.
std::optional<Error> check_ports(const NodePlan& plan, std::span<const std::uint16_t> ports,
                                 std::vector<Error>& warnings);

// Takes `ports`, some of the plan's, for this step. Error: another step of this user's has one.
std::optional<Error> claim_ports(const NodePlan& plan, std::span<const std::uint16_t> ports,
                                 const std::string& step, PortClaims& claims);

// Announces the task, narrows its CPUs, and sets and unsets its variables. The ports are checked
// before, by the process that can still end the step. `spec`: as the user wrote it.
// Result: what dry-run prints on standard output, and then nothing was done and no program shall
// run; else empty.
// Errors: a variable that was not taken.
Result<std::string> prepare_task(const PlannedTask& task, std::string_view spec,
                                 TaskProcess& process);

}  // namespace distgpu
