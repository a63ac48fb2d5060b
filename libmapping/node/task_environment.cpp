#include "node/task_environment.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/binding/device_values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/texts/variables.h"
#include "node/gpus.h"
#include "node/step_variables.h"
#include "slurm/slurm_options.h"

#include <algorithm>
#include <span>

namespace distgpu {
namespace {

// "NAME=VALUE", or "NAME=#HASH" if the value is long or contains a space.
std::string rank_entry(std::string_view name, std::string_view value) {
    constexpr std::size_t max_size = 64;
    const bool is_short = value.size() <= max_size && value.find(' ') == std::string_view::npos;
    if (is_short) return formatted("{}={}", name, value);
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char byte : value) {
        hash ^= static_cast<unsigned char>(byte);
        hash *= 0x100000001b3;
    }
    return formatted("{}=#{:x}", name, hash);
}

// Whether the user may have set the variable; if not, only a mode sets it.
bool may_be_set_by_user(std::string_view name) {
    const auto is_among = [name](std::span<const SetVariable> variables) {
        return std::ranges::count(variables, name, &SetVariable::name) > 0;
    };
    return is_among(common_variables()) || is_among(device_variables());
}

bool matches(std::string_view name, std::string_view pattern) {
    if (pattern.back() != '*') return name == pattern;
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool is_unset(const TaskPlan& task, std::string_view name) {
    return std::any_of(task.unset.begin(), task.unset.end(),
                       [name](const std::string& pattern) { return matches(name, pattern); });
}

// Ranks and sizes are numbers; other values are addresses, which the plugin knows better.
bool is_rank_or_size(std::string_view name, std::string_view value) {
    return name != "MASTER_ADDR" && name != "MASTER_PORT" && !value.empty() &&
           value.find_first_not_of("0123456789") == std::string_view::npos;
}

std::vector<std::string_view> find_user_settable_variables() {
    std::vector<std::string_view> names;
    const auto add = [&](std::span<const SetVariable> variables) {
        for (const SetVariable& variable : variables) {
            if (!variable.users_own) continue;
            names.push_back(variable.name);
            if (!variable.older_name.empty()) names.push_back(variable.older_name);
        }
    };
    add(common_variables());
    add(device_variables());
    for (const Framework* framework : frameworks()) {
        add(framework->sets);
        for (const Variant& variant : framework->variants) add(variant.framework->sets);
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

const std::vector<std::string_view>& user_settable_variables() {
    static const auto names = find_user_settable_variables();
    return names;
}

bool is_removed(const TaskPlan& task, std::string_view name) {
    return std::none_of(task.set.begin(), task.set.end(),
                        [name](const auto& variable) { return variable.first == name; }) &&
           is_unset(task, name);
}

}  // namespace

std::string step_prefix(const Environment& environment) {
    const auto id = [&](const char* name) { return environment.get(name).value_or("0"); };
    return formatted("{}.{} ", id("SLURM_JOB_ID"), id("SLURM_STEP_ID"));
}

bool is_user_settable(std::string_view name) {
    return std::ranges::binary_search(user_settable_variables(), name);
}

std::optional<std::string> exported(const Environment& environment, std::string_view name) {
    auto value = environment.get(std::string(name));
    if (!value || value->empty() || value == not_loaded_address) return std::nullopt;
    const std::string given = environment.text(given_variable);
    return has_word(given, formatted("{}={}", name, *value)) ? std::nullopt : value;
}

std::optional<std::uint32_t> cpu_count(const Environment& environment, const std::string& name) {
    const auto count = number_below(environment.text(name), CpuSet::cpu_limit + 1);
    return count == 0U ? std::nullopt : count;
}

NodeFacts read_node_facts(const Environment& task, const Environment& launch) {
    NodeFacts facts;
    const std::string gpus = visible_gpus(task);
    facts.gpus = gpus.empty() ? 0 : static_cast<std::uint32_t>(comma_items(gpus).size());
    facts.gpus_of_step = gpu_count(task.text("SLURM_GPUS")).value_or(0);
    facts.slurm_binds_gpus = gpu_owner(task) == GpuOwner::task;
    facts.gpu_names.in_pci_order = uses_pci_order(launch);
    for (const std::string_view name : user_settable_variables()) {
        const bool may_be_from_container = is_network_setting(name);
        if (exported(may_be_from_container ? task : launch, name)) {
            facts.exported.emplace_back(name);
        }
    }
    facts.cpus = cpu_count(task, "SLURM_CPUS_ON_NODE").value_or(facts.cpus);
    // In MiB; 0 if the step has all of the node's memory or it is unknown.
    facts.memory = task.number("SLURM_MEM_PER_NODE").value_or(0);
    if (facts.memory == 0) {
        facts.memory = std::uint64_t{task.number("SLURM_MEM_PER_CPU").value_or(0)} * facts.cpus;
    }
    return facts;
}

void remove_request_variables(Environment& environment) {
    for (const char* name : {spec_variable, sent_step_variable, cpu_bind_variable,
                             srun_port_variable, inherited_variable}) {
        environment.unset(name);
    }
    if (environment.get("MASTER_ADDR") == not_loaded_address) environment.unset("MASTER_ADDR");
}

Result<std::monostate> set_task_environment(Environment& environment, std::string_view spec,
                                            const NodePlan& plan, LocalRank local) {
    const TaskPlan& task = plan.tasks[local.value];
    remove_request_variables(environment);
    for (const std::string& name : environment.names()) {
        if (is_unset(task, name)) environment.unset(name);
    }
    const auto job_name = original_job_name(environment);
    Result<std::monostate> done = std::monostate{};
    const auto set = [&](const std::string& name, const std::string& value) {
        if (environment.set(name, value)) return;
        done = Error{formatted("variable {}", name),
                     formatted("could not be set ({} bytes)", value.size()), "please report this"};
    };
    std::vector<std::string> given;
    std::vector<std::string> mode_entries;  // of variables that only a mode sets
    for (const auto& [name, value] : task.set) {
        const bool is_recorded =
            is_user_settable(name) || name == "MASTER_ADDR" || name == "MASTER_PORT";
        if (is_recorded) given.push_back(formatted("{}={}", name, value));
        if (!may_be_set_by_user(name)) mode_entries.push_back(rank_entry(name, value));
    }
    set(given_variable, join(given, " "));
    set(ranks_variable, join(mode_entries, " "));
    set(prepared_variable, step_prefix(environment).append(spec));
    environment.unset(job_name_variable);
    for (const auto& [name, value] : task.set) {
        if (name == slurm_job_name_variable && job_name) {
            environment.set(job_name_variable, *job_name);
        }
        set(name, value);
    }
    return done;
}

std::vector<std::string> inherited_rank_variables(const Environment& task) {
    std::vector<std::string> names;
    const std::string given = task.text(ranks_variable);
    std::string_view rest = given;
    while (!rest.empty()) {
        const std::string_view entry = cut_until(rest, ' ');
        std::string name(entry.substr(0, entry.find('=')));
        const auto value = task.get(name);
        if (value && entry == rank_entry(name, *value)) names.push_back(std::move(name));
    }
    return names;
}

std::optional<std::string> original_job_name(const Environment& task) {
    const auto names = inherited_rank_variables(task);
    const bool is_given =
        std::find(names.begin(), names.end(), slurm_job_name_variable) != names.end();
    return task.get(is_given ? job_name_variable : slurm_job_name_variable);
}

std::optional<std::string> prepared_spec(const Environment& environment) {
    const std::string prefix = step_prefix(environment);
    const std::string value = environment.text(prepared_variable);
    return value.starts_with(prefix) ? std::optional(value.substr(prefix.size())) : std::nullopt;
}

std::vector<Difference> differences_from_plan(const Environment& environment,
                                              const TaskPlan& task) {
    std::vector<Difference> found;
    for (const auto& [name, value] : task.set) {
        if (may_be_set_by_user(name)) continue;
        const std::string present = environment.text(name);
        const bool is_set = !present.empty();
        if (is_set && (present == value || !is_rank_or_size(name, value))) continue;
        found.push_back({name, is_set ? std::optional(present) : std::nullopt, value});
    }
    for (const std::string& name : environment.names()) {
        if (is_removed(task, name)) found.push_back({name, environment.get(name), std::nullopt});
    }
    return found;
}

}  // namespace distgpu
