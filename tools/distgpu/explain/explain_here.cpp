// Finds out on one node what each rank got, and what it has changed since: its variables are
// compared with those of its task, with what distgpu gave, and with its plan.
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
#include "node/place.h"
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

// Whether the name is one of the patterns, which blanks part; '*' at the end of one stands for any
// ending.
bool is_among(std::string_view name, std::string_view patterns) {
    while (!patterns.empty()) {
        std::string_view pattern = take_until(patterns, ' ');
        const bool is_beginning = pattern.ends_with('*');
        pattern.remove_suffix(is_beginning ? 1 : 0);
        if (is_beginning ? name.starts_with(pattern) : name == pattern) return true;
    }
    return false;
}

// But for Slurm's own, of which a mode sets one or two and everybody has all.
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

// What a launcher that runs once a node gives its processes: what its mode takes away from it, the
// address of its own store, and what torchrun sets where nobody did
// (torch/distributed/elastic/agent/server/local_elastic_agent.py, 2.15).
bool is_launchers(std::string_view name, const Framework* framework) {
    const Framework* const launcher = framework != nullptr ? framework : find_framework("torchrun");
    return launcher->launcher_per_node &&
           (is_among(name,
                     "MASTER_ADDR MASTER_PORT TORCH_NCCL_ASYNC_ERROR_HANDLING ROLE_* "
                     "TORCHELASTIC_* CROSS_* PET_*") ||
            std::ranges::any_of(launcher->unsets, [&](const UnsetVariable& unset) {
                return is_among(name, unset.name);
            }));
}

std::string shortened(const std::string& value) {
    constexpr std::size_t longest = 300;
    if (value.size() <= longest) return value;
    return formatted("{}... ({} bytes, {:x})", value.substr(0, longest), value.size(),
                     std::hash<std::string>{}(value));
}

}  // namespace

bool is_told_of(std::string_view name) {
    // Without the launchers' own: what they start has them.
    return is_set_by_modes(name) ||
           is_among(name,
                    "CUDA_* FI_* GLOO_* GOMP_* HIP_* HSA_* JAX_* KMP_* MKL_* NCCL_* OMP_* PET_* "
                    "ROLE_* PYTORCH_* RCCL_* TORCH* UCX_* XLA_* ZE_* RANK LOCAL_RANK WORLD_SIZE "
                    "LOCAL_WORLD_SIZE NODE_RANK GROUP_RANK GROUP_WORLD_SIZE MASTER_ADDR "
                    "MASTER_PORT");
}

bool is_of_step(std::string_view name) {
    return is_told_of(name) && !is_set_by_modes(name) && !name.ends_with("RANK") &&
           !is_among(name, "CROSS_* PET_* ROLE_* TORCHELASTIC_*");
}

std::vector<Variable> variables_told_of(const EnvironmentCopy& environment) {
    std::vector<Variable> told;
    for (const auto& [name, value] : environment.variables()) {
        if (is_told_of(name)) told.push_back({name, shortened(value)});
    }
    return told;
}

using Changes = std::map<std::string, Change>;  // the first of each name

// What is another than the plan for the task has it.
void add_unplanned(const EnvironmentCopy& task, const EnvironmentCopy& rank,
                   const Framework* framework, const TaskPlan& plan, Changes& changes) {
    const auto add = [&](const std::string& name, const Value& then, const Value& now) {
        changes.try_emplace(name, Change{Change::Since::planned, name, then, now});
    };
    const bool by_launcher = framework != nullptr && framework->launcher_per_node;
    for (const Difference& each : differences(by_launcher ? task : rank, plan)) {
        add(each.name, each.planned, each.present);
    }
    // torchrun's name for the node's rank: another one is another order of the nodes.
    const std::string planned = formatted("{}", plan.node_rank.value);
    const Value now = by_launcher ? rank.get("GROUP_RANK") : std::nullopt;
    if (now && *now != planned) add("GROUP_RANK", planned, now);
}

std::vector<Change> changed_variables(const EnvironmentCopy& task, const EnvironmentCopy& rank,
                                      const Framework* framework, const TaskPlan* plan) {
    Changes changes;
    const auto add = [&](Change::Since since, const std::string& name, const Value& then) {
        const Value now = rank.get(name);
        if (now == then || is_launchers(name, framework)) return;
        changes.try_emplace(name, Change{since, name, then, now});
    };
    for (const EnvironmentCopy* environment : {&task, &rank}) {
        for (const auto& [name, value] : environment->variables()) {
            if (is_told_of(name)) add(Change::Since::start, name, task.get(name));
        }
    }
    // Of a wrapper that became the program by exec the kernel keeps no start, but distgpu's list:
    // "NAME=VALUE NAME=VALUE", without values that have a space.
    const std::string list = task.text(given_variable);
    for (std::string_view given = list; !given.empty();) {
        std::string_view value = take_until(given, ' ');
        if (value.find('=') == std::string_view::npos) continue;
        const std::string name(take_until(value, '='));
        add(Change::Since::given, name, std::string(value));
    }
    if (plan != nullptr) add_unplanned(task, rank, framework, *plan, changes);
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

// Nobody is asked: what a prepared task cannot derive was handed to it.
Result<StepLayout> ask_nobody(const StepId& step) {
    return Error{formatted("step {}.{}", step.job, step.step), "its layout is not known", ""};
}

// What distgpu plans for the tasks of this node, but for their devices, which the plugin alone
// knows.
std::optional<NodePlan> plan_of_node(Request request, const EnvironmentCopy& task,
                                     const std::string& node) {
    request.gpus = GpuPolicy::keep;
    request.cpus = BindingChoice::keep;
    request.hcas = BindingChoice::keep;
    auto place = find_place(task, node, ask_nobody);
    if (!place || place->launcher != Launcher::slurm) return std::nullopt;
    auto own = plan_own_task(std::move(request), *std::move(place), task);
    return own ? std::optional(std::move(own->plan)) : std::nullopt;
}

CpuSet slurms_mask(const EnvironmentCopy& task) {
    const std::string type = task.text("SLURM_CPU_BIND_TYPE");
    const std::size_t tasks = comma_items(task.text("SLURM_GTIDS")).size();
    const auto local = task.number("SLURM_LOCALID");
    if (!type.starts_with("mask_cpu") || !local || *local >= tasks) return {};
    const auto masks = parse_masks(task.text("SLURM_CPU_BIND_LIST"), tasks);
    return masks.empty() ? CpuSet{} : masks[*local];
}

// `first`: the first process of the rank's task.
CpuSet cpus_at_start(pid_t pid, pid_t first, const EnvironmentCopy& task) {
    if (prepared_spec(task)) {
        CpuSet recorded = read_bound(task.text(bound_variable)).cpus;
        if (!recorded.empty()) return recorded;
    }
    return first != pid ? cpus_of(first) : slurms_mask(task);
}

// Of the rank's task; its own where that has ended.
pid_t first_process(const NodeLook& look, const ProcessLook& process) {
    const auto first = std::ranges::find_if(look.processes, [&](const ProcessLook& each) {
        return each.is_task && process.task && each.task == process.task;
    });
    const bool is_there = first != look.processes.end() && read_stat(first->pid);
    return is_there ? first->pid : process.pid;
}

const TaskPlan* plan_of(const std::optional<NodePlan>& plan, std::optional<std::uint32_t> task) {
    if (!plan || !task) return nullptr;
    const auto at = std::ranges::find(plan->tasks, TaskId{*task}, &TaskPlan::task);
    return at == plan->tasks.end() ? nullptr : &*at;
}

}  // namespace

Result<NodeLook> explain_here(const std::string& node, const std::string& step,
                              const Environment& environment) {
    auto found = find_step_processes(node, step, environment);
    if (!found || !found->problem.empty()) return found;
    NodeLook look = *std::move(found);
    look.times = {0};
    for (ProcessLook& process : look.processes) {
        const auto stat = read_stat(process.pid);
        process.moments = {{.state = stat ? stat->state : 'X'}};
    }
    std::optional<Request> request;  // all tasks of the node were prepared by one SPEC
    std::optional<NodePlan> plan;
    NodeGpus gpus;
    for (const RankLook& rank : find_ranks({&look, 1}, 0).seen) {
        auto& process =
            look.processes[static_cast<std::size_t>(rank.process - look.processes.data())];
        const pid_t first = first_process(look, process);
        const auto own = read_environment(process.pid);
        const EnvironmentCopy variables = own.value_or(EnvironmentCopy());
        const EnvironmentCopy task =
            first == process.pid ? variables : read_environment(first).value_or(EnvironmentCopy());
        if (const auto spec = prepared_spec(task); spec && look.spec.empty()) {
            look.spec = *spec;
            auto parsed = parse_spec("--distgpu", *spec);
            if (parsed && parsed->framework != nullptr) {
                request = *std::move(parsed);
                plan = plan_of_node(*request, task, look.node);
            }
        }
        RankFacts& facts = process.facts.emplace();
        // slurmstepd's own number counts the tasks of one component of a heterogeneous step.
        const auto number = task.number("SLURM_PROCID");
        facts.task = number ? number : process.task;
        facts.local_rank =
            whole_number(variables.get("LOCAL_RANK").value_or(variables.text("SLURM_LOCALID")));
        facts.launchers = launchers_of(look, process, first);
        facts.is_hidden = !own;
        facts.variables = variables_told_of(variables);
        if (own) {
            facts.changes = changed_variables(
                task, variables, request ? request->framework : nullptr, plan_of(plan, facts.task));
        }
        const CpuSet then = cpus_at_start(process.pid, first, task);
        const CpuSet now = cpus_of(process.pid);
        facts.cpus = now.to_string();
        facts.cpus_then = then.to_string();
        const auto changed = changed_cpus(then, now);
        facts.changes.insert(facts.changes.end(), changed.begin(), changed.end());
        facts.open_gpus = open_gpu_files(process.pid);
        process.gpus = gpus.of(variables, read_bound(task.text(bound_variable)));
    }
    // Who asks needs the ranks alone.
    std::erase_if(look.processes, [](const ProcessLook& process) { return !process.facts; });
    return look;
}

}  // namespace distgpu
