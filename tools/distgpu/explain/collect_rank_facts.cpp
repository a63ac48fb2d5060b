// Collects on one node what each rank was given, and what has changed since: compares its variables
// with those of its task, with those that distgpu set or recorded, and with its plan.
#include "base/format.h"
#include "base/values.h"
#include "explain/explanation.h"
#include "inspect/process_facts.h"
#include "inspect/rank_gpus.h"
#include "inspect/ranks.h"
#include "inspect/step_processes.h"
#include "mapping/binding/binding.h"
#include "mapping/binding/device_values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"
#include "mapping/texts/variables.h"
#include "node/gpus.h"
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

namespace {

// What the plugin recorded about the task; empty if it recorded only an outer step's task.
BoundRecord record_of(const EnvironmentCopy& task) {
    return prepared_spec(task) ? read_bound_record(task.text(bound_variable)) : BoundRecord{};
}

// Adds the device variables that differ from the record. It outlives a wrapper that became the
// program by exec, and knows the variables that distgpu set as well as those that it left alone.
void add_record_differences(const BoundRecord& record, const EnvironmentCopy& rank,
                            Changes& changes) {
    if (!record.variables) return;
    for (const std::string_view bound : bound_variables()) {
        const std::string name(bound);
        const auto then = std::ranges::find(*record.variables, name, &BoundVariable::name);
        const bool was_set = then != record.variables->end();
        if (was_set && !then->value) continue;
        const Value value = was_set ? then->value : std::nullopt;
        const Value now = rank.get(name);
        if (now == value) continue;
        const auto since = was_set && then->is_given ? Change::Since::given : Change::Since::start;
        changes.try_emplace(name, Change{since, name, value, now});
    }
}

}  // namespace

std::vector<Change> changed_variables(const EnvironmentCopy& task, const EnvironmentCopy& rank,
                                      const Framework* framework, const TaskPlan* plan) {
    Changes changes;
    const auto add = [&](Change::Since since, const std::string& name, const Value& then) {
        const Value now = rank.get(name);
        if (now == then || is_set_by_launcher(name, framework)) return;
        changes.try_emplace(name, Change{since, name, then, now});
    };
    add_record_differences(record_of(task), rank, changes);
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

// The addresses of the GPUs, sorted; empty if one is unknown: if Slurm bound the GPUs to the tasks,
// several tasks may call different GPUs "0".
std::vector<std::string> addresses_of(const RankGpus& rank) {
    std::vector<std::string> addresses;
    addresses.reserve(rank.gpus.size());
    for (const GpuFacts& gpu : rank.gpus) addresses.push_back(gpu.pci);
    std::ranges::sort(addresses);
    const bool are_known = !addresses.empty() && !addresses.front().empty();
    return are_known ? addresses : std::vector<std::string>{};
}

std::string names_of(const std::vector<GpuFacts>& gpus) {
    std::vector<std::string> names;
    names.reserve(gpus.size());
    for (const GpuFacts& gpu : gpus) names.push_back(gpu.name);
    return formatted("GPU{} {}", names.size() == 1 ? "" : "s", join(names, ","));
}

}  // namespace

std::vector<std::optional<Change>> crowded_gpus(const std::vector<RankGpus>& ranks) {
    std::map<std::vector<std::string>, std::size_t> counts;
    for (const RankGpus& rank : ranks) ++counts[addresses_of(rank)];
    std::vector<std::optional<Change>> changes;
    for (const RankGpus& rank : ranks) {
        auto& change = changes.emplace_back();
        if (rank.step_gpus == 0) continue;
        const std::string all = formatted("{}", rank.step_gpus);
        if (rank.hiding_value) {
            change = {Change::Since::planned, "GPUs", all,
                      formatted("sees no GPU, because CUDA_VISIBLE_DEVICES is {}",
                                value_text(rank.hiding_value))};
        } else if (const auto addresses = addresses_of(rank); !addresses.empty()) {
            const std::size_t sharing = counts[addresses];
            const std::size_t per_gpu = (ranks.size() + rank.step_gpus - 1) / rank.step_gpus;
            if (sharing <= rank.gpus.size() * per_gpu) continue;
            change = {Change::Since::planned, "GPUs", all,
                      formatted("shares {} with {}", names_of(rank.gpus),
                                counted(sharing - 1, "other rank"))};
        }
    }
    return changes;
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
    CpuSet recorded = record_of(task).cpus;
    if (!recorded.empty()) return recorded;
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

// Slurm's ranks of the tasks of this node; empty if the environment has none.
std::vector<std::uint32_t> tasks_of_node(const EnvironmentCopy& environment) {
    std::vector<std::uint32_t> tasks;
    const std::string list = environment.text("SLURM_GTIDS");
    for (const std::string_view item : comma_items(list)) {
        if (const auto task = whole_number(item)) tasks.push_back(*task);
    }
    return tasks;
}

// Keeps the ranks, the processes that have ended, and one running process of each task.
void keep_needed_processes(NodeSample& sample) {
    std::set<std::uint32_t> tasks;
    for (const ProcessSample& process : sample.processes) {
        if (process.facts && process.task) tasks.insert(*process.task);
    }
    std::erase_if(sample.processes, [&](const ProcessSample& process) {
        if (process.facts || process.exit_code) return false;
        return !is_alive(process) || (process.task && !tasks.insert(*process.task).second);
    });
}

const TaskPlan* plan_of(const std::optional<NodePlan>& plan, std::optional<std::uint32_t> task) {
    if (!plan || !task) return nullptr;
    const auto at = std::ranges::find(plan->tasks, TaskId{*task}, &TaskPlan::task);
    return at == plan->tasks.end() ? nullptr : &*at;
}

// The variables of a rank's process and of its task's first process.
struct RankVariables {
    pid_t first = 0;
    EnvironmentCopy own;
    EnvironmentCopy task;
    bool is_hidden = false;  // `own` cannot be read
};

RankVariables read_variables(const NodeSample& sample, const ProcessSample& process) {
    const auto own = read_environment(process.pid);
    RankVariables read{first_process(sample, process), own.value_or(EnvironmentCopy()), {}, !own};
    read.task =
        read.first == process.pid ? read.own : read_environment(read.first).value_or(read.own);
    return read;
}

// With what the node's tasks were prepared: all have the same spec.
struct Preparation {
    std::optional<Request> request{};
    std::optional<NodePlan> plan{};
};

void add_preparation(const EnvironmentCopy& task, NodeSample& sample, Preparation& preparation) {
    const auto spec = prepared_spec(task);
    if (!spec || !sample.spec.empty()) return;
    sample.spec = *spec;
    auto parsed = parse_spec("--distgpu", *spec);
    if (!parsed || parsed->framework == nullptr) return;
    preparation.request = *std::move(parsed);
    preparation.plan = plan_of_node(*preparation.request, task, sample.node);
}

RankFacts facts_of(const NodeSample& sample, const ProcessSample& process,
                   const RankVariables& variables, const Preparation& preparation) {
    RankFacts facts;
    // slurmstepd's own number counts the tasks of one component of a heterogeneous step.
    const auto number = variables.task.number("SLURM_PROCID");
    facts.task = number ? number : process.task;
    facts.local_rank =
        whole_number(variables.own.get("LOCAL_RANK").value_or(variables.own.text("SLURM_LOCALID")));
    facts.launchers = launchers_of(sample, process, variables.first);
    facts.is_hidden = variables.is_hidden;
    facts.variables = reported_variables(variables.own);
    if (!facts.is_hidden) {
        facts.changes =
            changed_variables(variables.task, variables.own,
                              preparation.request ? preparation.request->framework : nullptr,
                              plan_of(preparation.plan, facts.task));
    }
    const CpuSet then = cpus_at_start(process.pid, variables.first, variables.task);
    const CpuSet now = cpus_of(process.pid);
    facts.cpus = now.to_string();
    facts.cpus_at_start = then.to_string();
    const auto changed = changed_cpus(then, now);
    facts.changes.insert(facts.changes.end(), changed.begin(), changed.end());
    facts.open_gpus = open_gpu_files(process.pid);
    return facts;
}

void add_crowded_gpus(const std::vector<RankGpus>& gpus, const std::vector<RankFacts*>& facts) {
    const auto crowded = crowded_gpus(gpus);
    for (std::size_t i = 0; i < facts.size(); ++i) {
        if (crowded[i]) facts[i]->changes.push_back(*crowded[i]);
    }
}

}  // namespace

Result<NodeSample> collect_rank_facts(const std::string& node, const std::string& step,
                                      const Environment& environment) {
    auto found = find_step_processes(node, step, environment);
    if (!found || (!found->problem.empty() && found->processes.empty())) return found;
    NodeSample sample = *std::move(found);
    read_states(sample);
    const bool has_all = sample.processes.size() < max_processes;
    Preparation preparation;
    NodeGpus gpus;
    std::vector<RankGpus> seen_gpus;
    std::vector<RankFacts*> seen;
    for (const RankSample& rank : find_ranks({&sample, 1}, 0).seen) {
        auto& process =
            sample.processes[static_cast<std::size_t>(rank.process - sample.processes.data())];
        const RankVariables variables = read_variables(sample, process);
        if (sample.tasks.empty() && has_all) sample.tasks = tasks_of_node(variables.task);
        add_preparation(variables.task, sample, preparation);
        process.facts = facts_of(sample, process, variables, preparation);
        const BoundRecord record = record_of(variables.task);
        process.gpus = gpus.find(variables.own, record);
        seen.push_back(&*process.facts);
        seen_gpus.push_back({rank.rank, process.gpus, record.gpus.size()});
        if (process.gpus.empty() && hides_all_gpus(variables.own)) {
            seen_gpus.back().hiding_value = variables.own.get("CUDA_VISIBLE_DEVICES");
        }
    }
    add_crowded_gpus(seen_gpus, seen);
    keep_needed_processes(sample);
    return sample;
}

}  // namespace distgpu
