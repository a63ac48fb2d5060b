#include "explain/explain_here.h"

#include "base/format.h"
#include "base/values.h"
#include "explain/changes.h"
#include "inspect/process_facts.h"
#include "inspect/rank_gpus.h"
#include "inspect/ranks.h"
#include "inspect/step_processes.h"
#include "inspect/step_tasks.h"
#include "mapping/binding/gpu_policies.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/bound_record.h"
#include "mapping/texts/variables.h"
#include "node/affinity.h"
#include "node/node_topology.h"
#include "node/own_task.h"
#include "node/place.h"
#include "node/task_environment.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace distgpu {
namespace {

CpuSet cpus_of(pid_t pid) {
    KernelCpuSet cpus{};
    return read_affinity(pid, cpus) ? CpuSet::from_words(cpus) : CpuSet{};
}

// Nobody is asked: what a prepared task cannot derive was handed to it.
Result<StepLayout> ask_nobody(const StepId& step) {
    return Error{formatted("step {}.{}", step.job, step.step), "its layout is not known", ""};
}

// What distgpu plans for the tasks of this node, but for their devices, which the plugin alone
// knows.
std::optional<NodePlan> plan_of(Request request, const EnvironmentCopy& task,
                                const std::string& node) {
    request.gpus = &gpu_policy::keep;
    request.cpus = BindingChoice::keep;
    request.hcas = BindingChoice::keep;
    auto place = find_place(task, node, ask_nobody);
    if (!place || place->launcher != Launcher::slurm) return std::nullopt;
    auto own = plan_own_task(std::move(request), *std::move(place), task);
    return own ? std::optional(std::move(own->plan)) : std::nullopt;
}

// The step as its tasks on this node were prepared.
struct Prepared {
    std::string spec;
    std::optional<Request> request;
    std::optional<NodePlan> plan;

    const Framework* framework() const { return request ? request->framework : nullptr; }
    const TaskPlan* plan_of(std::optional<std::uint32_t> task) const {
        if (!plan || !task) return nullptr;
        const auto found =
            std::find_if(plan->tasks.begin(), plan->tasks.end(),
                         [&](const TaskPlan& each) { return each.task == TaskId{*task}; });
        return found == plan->tasks.end() ? nullptr : &*found;
    }
};

class Explainer {
  public:
    Explainer(std::string node, const std::vector<StepProcess>& known) : node_(std::move(node)) {
        NodeLook look{.node = node_, .times = {0}, .processes = find_processes(known)};
        for (ProcessLook& process : look.processes) {
            const auto stat = read_stat(process.pid);
            process.moments = {{.state = stat ? stat->state : 'X'}};
            if (process.rank) facts_.by_variable = true;
        }
        for (const StepProcess& process : known) {
            if (process.rank) first_of_task_.try_emplace(*process.rank, process.pid);
        }
        look_ = std::move(look);
    }

    NodeFactsNow explain() && {
        facts_.node = node_;
        const std::vector<NodeLook> looks{look_};
        const Ranks ranks = find_ranks(looks, 0);
        for (const RankLook& rank : ranks.seen) explain(rank);
        return std::move(facts_);
    }

  private:
    void explain(const RankLook& seen) {
        const ProcessLook& process = *seen.process;
        RankFacts rank;
        rank.rank = seen.rank;
        rank.task = process.task;
        rank.pid = process.pid;
        rank.command = process.command;
        rank.cpus = cpus_of(process.pid).to_string();
        const pid_t first = first_process(process);
        add_launchers(process, first, rank);
        const StartEnvironment own(process.pid);
        rank.is_hidden = !own.is_readable();
        const EnvironmentCopy variables = own.variables();
        const EnvironmentCopy task = first == process.pid ? variables : read_variables(first);
        // slurmstepd's own number counts the tasks of one component of a heterogeneous step.
        if (const auto number = whole_number(task.get("SLURM_PROCID").value_or(""))) {
            rank.task = *number;
        }
        prepare(task);
        add_variables(variables, task, rank);
        add_cpus(process, first, task, rank);
        rank.gpus = gpus_.of(variables, read_bound(task.get(bound_variable).value_or("")));
        rank.open_gpus = open_gpu_files(process.pid);
        facts_.ranks.push_back(std::move(rank));
    }

    static EnvironmentCopy read_variables(pid_t pid) { return StartEnvironment(pid).variables(); }

    // Of the rank's task; its own where that has ended.
    pid_t first_process(const ProcessLook& process) const {
        const auto first = first_of_task_.find(process.task.value_or(0));
        if (!process.task || first == first_of_task_.end()) return process.pid;
        return read_stat(first->second) ? first->second : process.pid;
    }

    // From the task's first process down to the rank's.
    void add_launchers(const ProcessLook& process, pid_t first, RankFacts& rank) const {
        constexpr std::size_t most = 16;
        pid_t at = process.pid;
        while (at != first && rank.launchers.size() < most) {
            const ProcessLook* const below = find(at);
            const ProcessLook* const above = below == nullptr ? nullptr : find(below->parent);
            if (above == nullptr) break;
            rank.launchers.push_back(formatted("{} {}", above->pid, above->command));
            at = above->pid;
        }
        std::reverse(rank.launchers.begin(), rank.launchers.end());
    }

    const ProcessLook* find(pid_t pid) const {
        const auto found = std::find_if(look_.processes.begin(), look_.processes.end(),
                                        [&](const ProcessLook& each) { return each.pid == pid; });
        return found == look_.processes.end() ? nullptr : &*found;
    }

    // Once: all tasks of the node were prepared by one SPEC.
    void prepare(const EnvironmentCopy& task) {
        const auto spec = prepared_spec(task);
        if (!spec || !prepared_.spec.empty()) return;
        prepared_.spec = *spec;
        facts_.spec = *spec;
        auto request = parse_spec("--distgpu", *spec);
        if (!request || request->framework == nullptr) return;
        prepared_.request = *std::move(request);
        prepared_.plan = distgpu::plan_of(*prepared_.request, task, node_);
    }

    void add_variables(const EnvironmentCopy& variables, const EnvironmentCopy& task,
                       RankFacts& rank) const {
        rank.local_rank = whole_number(
            variables.get("LOCAL_RANK").value_or(variables.get("SLURM_LOCALID").value_or("")));
        rank.variables = variables_told_of(variables);
        if (rank.is_hidden) return;
        rank.changes = changed_variables(
            {task, variables, prepared_.framework(), prepared_.plan_of(rank.task)});
    }

    static void add_cpus(const ProcessLook& process, pid_t first, const EnvironmentCopy& task,
                         RankFacts& rank) {
        const CpuSet then = cpus_at_start(process, first, task);
        const CpuSet now = cpus_of(process.pid);
        rank.cpus_then = then.to_string();
        const auto changed = changed_cpus(then, now);
        rank.changes.insert(rank.changes.end(), changed.begin(), changed.end());
    }

    static CpuSet cpus_at_start(const ProcessLook& process, pid_t first,
                                const EnvironmentCopy& task) {
        if (prepared_spec(task)) {
            CpuSet recorded = read_bound(task.get(bound_variable).value_or("")).cpus;
            if (!recorded.empty()) return recorded;
        }
        if (first != process.pid) return cpus_of(first);
        return slurms_mask(task);
    }

    static CpuSet slurms_mask(const EnvironmentCopy& task) {
        const std::string type = task.get("SLURM_CPU_BIND_TYPE").value_or("");
        const std::size_t tasks = comma_items(task.get("SLURM_GTIDS").value_or("")).size();
        const auto local = whole_number(task.get("SLURM_LOCALID").value_or(""));
        if (!type.starts_with("mask_cpu") || !local || *local >= tasks) return {};
        const auto masks = parse_masks(task.get("SLURM_CPU_BIND_LIST").value_or(""), tasks);
        return masks.empty() ? CpuSet{} : masks[*local];
    }

    std::string node_;
    NodeLook look_;
    NodeFactsNow facts_;
    Prepared prepared_;
    NodeGpus gpus_;
    std::map<std::uint32_t, pid_t> first_of_task_;
};

}  // namespace

Result<NodeFactsNow> explain_here(const std::string& node, const std::string& step,
                                  const Environment& environment) {
    const auto known = list_step_processes(node, step, environment);
    if (!known) return NodeFactsNow{.node = node, .problem = known.error().message()};
    if (auto error = owned_by_another(step, *known)) return *std::move(error);
    return Explainer(node, *known).explain();
}

}  // namespace distgpu
