#include "base/format.h"
#include "base/io/files.h"
#include "mapping/frameworks/serving.h"
#include "mapping/plan/plan.h"
#include "mapping/texts/variables.h"
#include "node/prepare_task.h"
#include "node/step_variables.h"
#include "node/task_environment.h"
#include "node/verbose_rows.h"
#include "slurm_calls.h"
#include "stepd_side.h"

#include <cstdlib>
#include <unistd.h>

namespace distgpu {
namespace {

// Another plugin has put this task into a container.
bool is_in_container(const AskedStep& asked) {
    return asked.root != file_root();
}

bool wants_check(const Request& request) {
    return request.check.value_or(CheckChoice::off) != CheckChoice::off;
}

// All that is of the host: the program itself is started by a process there.
Result<StepVerdict> verdict_of(spank_t spank, const AskedStep& asked, HostSide& host) {
    if (!host.helper) {
        const Error& error = host.helper.error();
        return Error{formatted("check: {} on {}", asked.command, node_name()), error.problem,
                     error.remedy};
    }
    StepCheck check{.command = asked.command};
    // Each node unpacks its image in its own time.
    if (is_in_container(asked)) check.patience = std::chrono::seconds(300);
    return run_step_check(*host.helper, check, host.variables, StepVariables(spank));
}

// The key check: what the step's own check says before the program starts.
std::optional<Failure> check_step(spank_t spank, const AskedStep& asked,
                                  std::optional<HostSide>& host, const TaskIdentity& task) {
    if (!host || !wants_check(asked.request)) return std::nullopt;
    const auto verdict = verdict_of(spank, asked, *host);
    if (verdict && *verdict == StepVerdict::ready) return std::nullopt;
    if (*asked.request.check == CheckChoice::stop) {
        if (!verdict) return Failure{verdict.error()};
        return Failure{{formatted("--distgpu={}", excerpt(asked.spec)),
                        "the check found the step not ready, so the program did not start",
                        "see its lines above; check=warn starts the program all the same"},
                       *verdict == StepVerdict::not_ready};
    }
    if (!verdict) tell(verdict.error().message());
    if (task.task() == TaskId{0}) tell("distgpu: check=warn: the program starts all the same");
    return std::nullopt;
}

bool runs_watch(const AskedStep& asked, NodeIndex node, LocalRank local) {
    return watch_of(asked.request).minutes > 0 &&
           asked.step.layout.rank(node, local) == GlobalRank{0};
}

// The key watch. A step without its watch is as good as one that asked for none.
void watch_step(const AskedStep& asked, std::optional<HostSide>& host, const TaskIdentity& task) {
    const Watch watch = watch_of(asked.request);
    if (watch.on) allow_looks();
    if (!host || !runs_watch(asked, task.node.node, task.local)) return;
    const StepWatch wanted{.command = asked.command,
                           .watch = watch,
                           .step = formatted("{}.{}", asked.identity.job, asked.identity.step)};
    const auto started = std::move(host->helper).and_then([&](HostHelper helper) {
        return start_step_watch(helper, wanted, host->variables);
    });
    if (!started) tell(started.error().message());
}

// Where the user left `distgpu exec` out, and Slurm can put it there.
std::optional<Failure> start_by_exec(spank_t spank, const AskedStep& asked) {
    const StepFacts& facts = asked.step.facts;
    const StepView step{asked.request, asked.step.layout, facts, facts.node_addresses};
    if (!contract::lacks_exec(step)) return std::nullopt;
    // An image may be without it.
    const bool is_there = access(asked.command.c_str(), X_OK) == 0;
    if (is_there && put_in_front(spank, {asked.command, "exec", "--"})) return std::nullopt;
    return Failure{contract::without_exec(step)};
}

// What dry-run prints; empty: the program shall run.
Result<std::string> prepare(spank_t spank, const AskedStep& asked, const StepBinding& binding,
                            const TaskIdentity& task) {
    const StepLayout& layout = asked.step.layout;
    if (auto mismatch = check_layout(layout, task.node)) return *std::move(mismatch);
    StepVariables variables(spank);
    std::vector<ContainerSetting> settings;
    if (is_in_container(asked)) {
        // Slurm's own numbers again, over a container's.
        variables.set("SLURM_PROCID", std::to_string(task.task().value));
        variables.set("SLURM_LOCALID", std::to_string(task.local.value));
        variables.set("SLURM_NODEID", std::to_string(task.node.node.value));
        settings = put_back(variables, asked.launch);
    }
    NodeFacts facts = binding.facts_of(spank, asked.launch, task.local);
    facts.node = task.node.node;
    if (asked.sent.gpus > 0) facts.gpus_of_step = asked.sent.gpus;
    facts.address = asked.own_address;
    facts.user_bound = asked.sent.cpu_bind;
    facts.gpus_by_slurm = gives_gpus();
    const auto& of_component = asked.identity.component.tasks;
    const bool first_of_component = asked.identity.heterogeneous && task.local == LocalRank{0} &&
                                    of_component.front() == ComponentTaskId{0};
    return plan(asked.request, asked.step, facts).and_then([&](const NodePlan& node_plan) {
        const TaskPlan& own = node_plan.tasks[task.local.value];
        // What the container has otherwise is told once, and left for `distgpu check`.
        const ContainerNotes notes = container_notes(settings, own);
        variables.unset(container_variable);
        if (!notes.mark.empty()) variables.set(container_variable, notes.mark);
        if ((asked.request.verbose || asked.request.dry_run) && own.rank == GlobalRank{0}) {
            for (const std::string& line : notes.lines) tell(line);
        }
        hand_on_layout(variables, layout);
        TaskProcess process{variables, tell};
        process.show = [&](const std::string& rows) {
            if (!send_rows(variables, rows)) show_on_stderr(rows);
        };
        return prepare_task({asked.request, layout, facts, node_plan, task.local,
                             asked.told_by_srun, first_of_component},
                            asked.spec, process);
    });
}

}  // namespace

bool needs_host_side(spank_t spank, const AskedStep& asked) {
    if (wants_check(asked.request)) return true;
    const Identity& identity = asked.identity;
    const auto local = item(spank, S_TASK_ID);
    // The key watch is for no heterogeneous step.
    return local && *local < identity.component.tasks.size() && !identity.heterogeneous &&
           runs_watch(asked, identity.whole().node, LocalRank{*local});
}

HostSide keep_host_side(spank_t spank) {
    const auto user = step_user(spank);
    if (!user) return {Error{"", "Slurm does not tell the job's user", ""}, {}};
    HostSide host{HostHelper::start(user), {}};
    const StepVariables step(spank);
    for (const std::string& name : step.names()) {
        if (const auto value = step.get(name)) host.variables.set(name, *value);
    }
    // In a batch job's steps it is the batch host's.
    host.variables.set("SLURMD_NODENAME", node_name());
    return host;
}

std::optional<Failure> start_task(spank_t spank, const AskedStep& asked, const StepBinding& binding,
                                  std::optional<HostSide>& host) {
    const auto task =
        read_task_identity(spank, asked.identity, asked.offsets, is_in_container(asked));
    if (!task) return Failure{task.error()};
    const auto prepared = prepare(spank, asked, binding, *task);
    if (!prepared) return Failure{prepared.error()};
    if (!prepared->empty()) {
        _exit(write_all(STDOUT_FILENO, *prepared) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    if (auto failure = start_by_exec(spank, asked)) return failure;
    if (auto failure = check_step(spank, asked, host, *task)) return failure;
    watch_step(asked, host, *task);
    return std::nullopt;
}

}  // namespace distgpu
