// Collects on one node what each rank was given, and what has changed since: compares its variables
// with those of its task, with those that distgpu set, and with its plan.
#include "base/format.h"
#include "base/values.h"
#include "explain/explanation.h"
#include "inspect/process_facts.h"
#include "inspect/rank_gpus.h"
#include "inspect/step_processes.h"
#include "mapping/binding/binding.h"
#include "mapping/binding/device_values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "node/machine.h"
#include "node/node_topology.h"
#include "node/own_task.h"
#include "node/process_place.h"
#include "node/task_environment.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace distgpu {
namespace {

using Value = std::optional<std::string>;

// Whether the name matches one of the patterns, which are separated by blanks; a '*' at the end of
// a pattern matches any ending.
bool matches_any(std::string_view name, std::string_view patterns) {
    while (!patterns.empty()) {
        std::string_view pattern = cut_until(patterns, ' ');
        const bool is_prefix = pattern.ends_with('*');
        pattern.remove_suffix(is_prefix ? 1 : 0);
        if (is_prefix ? name.starts_with(pattern) : name == pattern) return true;
    }
    return false;
}

// Excludes Slurm's variables: a mode sets one or two of them, but every task has all.
bool is_set_by_modes(std::string_view name) {
    static const std::set<std::string_view> names = [] {
        std::set<std::string_view> all;
        const auto add = [&](std::span<const SetVariable> variables) {
            for (const SetVariable& variable : variables) all.insert(variable.name);
        };
        add(common_variables());
        add(device_variables());
        for (const Framework* framework : frameworks()) {
            add(framework->sets);
            for (const Variant& variant : framework->variants) add(variant.framework->sets);
        }
        return all;
    }();
    return !name.starts_with("SLURM_") && names.contains(name);
}

// Whether a launcher that runs once per node sets the variable for its processes: those that its
// mode removes from the launcher, the address of its own store, and those that torchrun sets unless
// the user did (torch/distributed/elastic/agent/server/local_elastic_agent.py, 2.15).
bool is_set_by_launcher(std::string_view name, const Framework* framework) {
    const Framework* const launcher = framework != nullptr ? framework : find_framework("torchrun");
    return launcher->launcher_per_node &&
           (matches_any(name,
                        "MASTER_ADDR MASTER_PORT TORCH_NCCL_ASYNC_ERROR_HANDLING ROLE_* "
                        "TORCHELASTIC_* CROSS_* PET_*") ||
            std::ranges::any_of(launcher->unsets, [&](const UnsetVariable& unset) {
                return matches_any(name, unset.name);
            }));
}

std::string shortened(const std::string& value) {
    constexpr std::size_t max_length = 300;
    if (value.size() <= max_length) return value;
    return formatted("{}... ({} bytes, {:x})", value.substr(0, max_length), value.size(),
                     std::hash<std::string>{}(value));
}

}  // namespace

bool is_reported_variable(std::string_view name) {
    // Without the launchers' own variables, which every process that they start has.
    return is_set_by_modes(name) ||
           matches_any(name,
                       "CUDA_* FI_* GLOO_* GOMP_* HIP_* HSA_* JAX_* KMP_* MKL_* NCCL_* OMP_* PET_* "
                       "ROLE_* PYTORCH_* RCCL_* TORCH* UCX_* XLA_* ZE_* RANK LOCAL_RANK WORLD_SIZE "
                       "LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK GROUP_WORLD_SIZE MASTER_ADDR "
                       "MASTER_PORT");
}

bool is_step_wide(std::string_view name) {
    return is_reported_variable(name) && !is_set_by_modes(name) && !name.ends_with("RANK") &&
           !matches_any(name, "CROSS_* PET_* ROLE_* TORCHELASTIC_*");
}

std::vector<Variable> reported_variables(const EnvironmentCopy& environment) {
    std::vector<Variable> reported;
    for (const auto& [name, value] : environment.variables()) {
        if (is_reported_variable(name)) reported.push_back({name, shortened(value)});
    }
    return reported;
}

using Changes = std::map<std::string, Change>;  // by name; the first change counts

// Adds the variables that differ from the plan for the task.
void add_plan_differences(const EnvironmentCopy& task, const EnvironmentCopy& rank,
                          const Framework* framework, const TaskPlan& plan, Changes& changes) {
    const auto add = [&](const std::string& name, const Value& then, const Value& now) {
        changes.try_emplace(name, Change{Change::Since::planned, name, then, now});
    };
    const bool has_launcher = framework != nullptr && framework->launcher_per_node;
    for (const Difference& each : differences_from_plan(has_launcher ? task : rank, plan)) {
        add(each.name, each.planned, each.present);
    }
    // torchrun's name for the node rank: a different one means a different order of the nodes.
    const std::string planned = formatted("{}", plan.node_rank.value);
    const Value now = has_launcher ? rank.get("GROUP_RANK") : std::nullopt;
    if (now && *now != planned) add("GROUP_RANK", planned, now);
}

std::vector<Change> changed_variables(const EnvironmentCopy& task, const EnvironmentCopy& rank,
                                      const Framework* framework, const TaskPlan* plan) {
    Changes changes;
    const auto add = [&](Change::Since since, const std::string& name, const Value& then) {
        const Value now = rank.get(name);
        if (now == then || is_set_by_launcher(name, framework)) return;
        changes.try_emplace(name, Change{since, name, then, now});
    };
    for (const EnvironmentCopy* environment : {&task, &rank}) {
        for (const auto& [name, value] : environment->variables()) {
            if (is_reported_variable(name)) add(Change::Since::start, name, task.get(name));
        }
    }
    // If a wrapper became the program by exec, the kernel no longer has the variables that the task
    // began with, but distgpu's list is left: "NAME=VALUE NAME=VALUE", without values with a space.
    const std::string list = task.text(given_variable);
    for (std::string_view given = list; !given.empty();) {
        std::string_view value = cut_until(given, ' ');
        if (value.find('=') == std::string_view::npos) continue;
        const std::string name(cut_until(value, '='));
        add(Change::Since::given, name, std::string(value));
    }
    if (plan != nullptr) add_plan_differences(task, rank, framework, *plan, changes);
    std::vector<Change> all;
    for (auto& [name, change] : changes) {
        for (Value* value : {&change.then, &change.now}) {
            if (*value) *value = shortened(**value);
        }
        all.push_back(std::move(change));
    }
    return all;
}

std::vector<Change> changed_cpus(const CpuSet& then, const CpuSet& now) {
    if (then.empty() || now.empty() || then == now) return {};
    return {{Change::Since::start, "CPUs", then.to_string(), now.to_string()}};
}

namespace {

CpuSet cpus_of(pid_t pid) {
    KernelCpuSet cpus{};
    return read_affinity(pid, cpus) ? CpuSet::from_words(cpus) : CpuSet{};
}

// Instead of asking Slurm: a prepared task got everything in its variables that it cannot derive.
Result<StepLayout> no_slurm_layout(const StepId& step) {
    return Error{formatted("step {}.{}", step.job, step.step), "its layout is not known", ""};
}

// The plan for the tasks of this node, without their devices, which only the plugin knows.
std::optional<NodePlan> plan_of_node(Request request, const EnvironmentCopy& task,
                                     const std::string& node) {
    request.gpus = GpuPolicy::keep;
    request.cpus = BindingChoice::keep;
    request.hcas = BindingChoice::keep;
    auto place = find_process_place(task, node, no_slurm_layout);
    if (!place || place->launcher != Launcher::slurm) return std::nullopt;
    auto own = plan_own_task(std::move(request), *std::move(place), task);
    return own ? std::optional(std::move(own->plan)) : std::nullopt;
}

// The CPUs to which Slurm bound the task.
CpuSet slurm_mask(const EnvironmentCopy& task) {
    const std::string type = task.text("SLURM_CPU_BIND_TYPE");
    const std::size_t tasks = comma_items(task.text("SLURM_GTIDS")).size();
    const auto local = task.number("SLURM_LOCALID");
    if (!type.starts_with("mask_cpu") || !local || *local >= tasks) return {};
    const auto masks = parse_masks(task.text("SLURM_CPU_BIND_LIST"), tasks);
    return masks.empty() ? CpuSet{} : masks[*local];
}

// The CPUs of the rank's task at its start. `first`: the task's first process.
CpuSet cpus_at_start(pid_t pid, pid_t first, const EnvironmentCopy& task) {
    if (prepared_spec(task)) {
        CpuSet recorded = read_bound_record(task.text(bound_variable)).cpus;
        if (!recorded.empty()) return recorded;
    }
    return first != pid ? cpus_of(first) : slurm_mask(task);
}

// The first process of the rank's task; the rank's own process if that has ended.
pid_t first_process(const NodeSample& sample, const ProcessSample& process) {
    const auto first = std::ranges::find_if(sample.processes, [&](const ProcessSample& each) {
        return each.is_task && process.task && each.task == process.task;
    });
    const bool is_running = first != sample.processes.end() && read_stat(first->pid);
    return is_running ? first->pid : process.pid;
}

const TaskPlan* plan_of(const std::optional<NodePlan>& plan, std::optional<std::uint32_t> task) {
    if (!plan || !task) return nullptr;
    const auto at = std::ranges::find(plan->tasks, TaskId{*task}, &TaskPlan::task);
    return at == plan->tasks.end() ? nullptr : &*at;
}

}  // namespace

Result<NodeSample> collect_rank_facts(const std::string& node, const std::string& step,
                                      const Environment& environment) {
    auto found = find_step_processes(node, step, environment);
    if (!found || !found->problem.empty()) return found;
    NodeSample sample = *std::move(found);
    sample.times = {0};
    for (ProcessSample& process : sample.processes) {
        const auto stat = read_stat(process.pid);
        process.moments = {{.state = stat ? stat->state : 'X'}};
    }
    std::optional<Request> request;  // all tasks of the node have the same spec
    std::optional<NodePlan> plan;
    NodeGpus gpus;
    for (const RankSample& rank : find_ranks({&sample, 1}, 0).seen) {
        auto& process =
            sample.processes[static_cast<std::size_t>(rank.process - sample.processes.data())];
        const pid_t first = first_process(sample, process);
        const auto own = read_environment(process.pid);
        const EnvironmentCopy variables = own.value_or(EnvironmentCopy());
        const EnvironmentCopy task =
            first == process.pid ? variables : read_environment(first).value_or(EnvironmentCopy());
        if (const auto spec = prepared_spec(task); spec && sample.spec.empty()) {
            sample.spec = *spec;
            auto parsed = parse_spec("--distgpu", *spec);
            if (parsed && parsed->framework != nullptr) {
                request = *std::move(parsed);
                plan = plan_of_node(*request, task, sample.node);
            }
        }
        RankFacts& facts = process.facts.emplace();
        // slurmstepd's own number counts the tasks of one component of a heterogeneous step.
        const auto number = task.number("SLURM_PROCID");
        facts.task = number ? number : process.task;
        facts.local_rank =
            whole_number(variables.get("LOCAL_RANK").value_or(variables.text("SLURM_LOCALID")));
        facts.launchers = launchers_of(sample, process, first);
        facts.is_hidden = !own;
        facts.variables = reported_variables(variables);
        if (own) {
            facts.changes = changed_variables(
                task, variables, request ? request->framework : nullptr, plan_of(plan, facts.task));
        }
        const CpuSet then = cpus_at_start(process.pid, first, task);
        const CpuSet now = cpus_of(process.pid);
        facts.cpus = now.to_string();
        facts.cpus_at_start = then.to_string();
        const auto changed = changed_cpus(then, now);
        facts.changes.insert(facts.changes.end(), changed.begin(), changed.end());
        facts.open_gpus = open_gpu_files(process.pid);
        process.gpus = gpus.find(variables, read_bound_record(task.text(bound_variable)));
    }
    // The caller needs only the ranks.
    std::erase_if(sample.processes, [](const ProcessSample& process) { return !process.facts; });
    return sample;
}

}  // namespace distgpu
