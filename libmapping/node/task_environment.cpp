#include "node/task_environment.h"

#include "base/format.h"
#include "base/take_until.h"
#include "base/values.h"
#include "mapping/binding/device_values.h"
#include "mapping/texts/variables.h"
#include "node/gpu_ownership.h"
#include "node/launch_variables.h"
#include "slurm/slurm_options.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {
namespace {

std::uint32_t count_devices(const Environment& environment) {
    const std::string list = visible_gpus(environment);
    if (list.empty()) return 0;
    return static_cast<std::uint32_t>(std::count(list.begin(), list.end(), ',') + 1);
}

// "NAME=VALUE" of those that distgpu gives this task.
std::string given_values(const TaskPlan& task) {
    std::vector<std::string_view> marked = users_own();
    marked.insert(marked.end(), {"MASTER_ADDR", "MASTER_PORT"});
    std::string text;
    for (const auto& [name, value] : task.set) {
        if (std::find(marked.begin(), marked.end(), name) == marked.end()) continue;
        text += formatted("{}{}={}", text.empty() ? "" : " ", name, value);
    }
    return text;
}

// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : text) {
        hash ^= static_cast<unsigned char>(byte);
        hash *= 0x100000001b3;
    }
    return hash;
}

// "NAME=VALUE", or "NAME=#HASH" of a value that is long or would not stand in one word.
std::string rank_entry(std::string_view name, std::string_view value) {
    constexpr std::size_t longest = 64;
    const bool is_short = value.size() <= longest && value.find(' ') == std::string_view::npos;
    return is_short ? formatted("{}={}", name, value) : formatted("{}=#{:x}", name, hash_of(value));
}

bool is_among(std::span<const SetVariable> variables, std::string_view name) {
    return std::any_of(variables.begin(), variables.end(),
                       [name](const SetVariable& variable) { return variable.name == name; });
}

// The entries of what its mode alone gives this task.
std::string rank_values(const TaskPlan& task) {
    std::vector<std::string> entries;
    for (const auto& [name, value] : task.set) {
        if (is_among(common_variables(), name) || is_among(device_variables(), name)) continue;
        entries.push_back(rank_entry(name, value));
    }
    return join(entries, " ");
}

void unset(Environment& environment, std::string_view pattern) {
    if (pattern.back() != '*') {
        environment.unset(std::string(pattern));
        return;
    }
    pattern.remove_suffix(1);
    for (const std::string& name : environment.names()) {
        if (std::string_view(name).substr(0, pattern.size()) == pattern) environment.unset(name);
    }
}

Result<std::monostate> set(Environment& environment, const std::string& name,
                           const std::string& value) {
    if (environment.set(name, value)) return std::monostate{};
    return Error{formatted("variable {}", name),
                 formatted("could not be set ({} bytes)", value.size()), "please report this"};
}

}  // namespace

std::string step_mark(const Environment& environment) {
    const auto id = [&](const char* name) { return environment.get(name).value_or("0"); };
    return formatted("{}.{} ", id("SLURM_JOB_ID"), id("SLURM_STEP_ID"));
}

std::vector<std::string_view> users_own() {
    std::vector<std::string_view> names;
    for (const auto variables : {common_variables(), device_variables()}) {
        for (const SetVariable& variable : variables) {
            if (!variable.users_own) continue;
            names.push_back(variable.name);
            if (!variable.older_name.empty()) names.push_back(variable.older_name);
        }
    }
    return names;
}

std::optional<std::string> exported(const Environment& environment, std::string_view name) {
    auto value = environment.get(std::string(name));
    if (!value || value->empty() || value == not_loaded_address) return std::nullopt;
    const std::string given = environment.get(given_variable).value_or("");
    std::string_view rest = given;
    while (!rest.empty()) {
        const std::string_view entry = take_until(rest, ' ');
        if (entry == formatted("{}={}", name, *value)) return std::nullopt;
    }
    return value;
}

std::optional<std::uint32_t> cpu_count(const Environment& environment, const std::string& name) {
    const auto count = number_below(environment.get(name).value_or(""), CpuSet::cpu_limit + 1);
    return count == 0U ? std::nullopt : count;
}

namespace {

// MiB; 0: the step has all of the node, or it is not known.
std::uint64_t memory_of_node(const Environment& task, std::uint32_t cpus) {
    const auto number = [&](const char* name) -> std::uint64_t {
        return whole_number(task.get(name).value_or("")).value_or(0);
    };
    const std::uint64_t each = number("SLURM_MEM_PER_NODE");
    return each > 0 ? each : number("SLURM_MEM_PER_CPU") * cpus;
}

}  // namespace

NodeFacts read_node_facts(const Environment& task, const Environment& launch) {
    NodeFacts facts;
    facts.gpus = count_devices(task);
    facts.gpus_of_step = gpu_count(task.get("SLURM_GPUS").value_or("")).value_or(0);
    facts.gpus_bound = gpu_owner(task) == GpuOwner::task;
    facts.gpu_names.in_pci_order = counts_by_pci(launch);
    for (const std::string_view name : users_own()) {
        const bool may_be_a_containers = is_network_setting(name);
        if (exported(may_be_a_containers ? task : launch, name)) facts.exported.emplace_back(name);
    }
    facts.cpus = cpu_count(task, "SLURM_CPUS_ON_NODE").value_or(facts.cpus);
    facts.memory = memory_of_node(task, facts.cpus);
    return facts;
}

void remove_request(Environment& environment) {
    for (const char* name :
         {spec_variable, sent_variable, cpu_bind_variable, rows_variable, inherited_variable}) {
        environment.unset(name);
    }
    if (environment.get("MASTER_ADDR") == not_loaded_address) environment.unset("MASTER_ADDR");
}

Result<std::monostate> set_task_environment(Environment& environment, std::string_view spec,
                                            const NodePlan& plan, LocalRank local) {
    const TaskPlan& task = plan.tasks[local.value];
    remove_request(environment);
    for (const std::string& pattern : task.unset) unset(environment, pattern);
    const auto job_name = own_job_name(environment);
    auto done = set(environment, given_variable, given_values(task));
    if (auto next = set(environment, ranks_variable, rank_values(task)); !next) {
        done = std::move(next);
    }
    const std::string mark = step_mark(environment).append(spec);
    if (auto next = set(environment, prepared_variable, mark); !next) done = std::move(next);
    environment.unset(job_name_variable);
    for (const auto& [name, value] : task.set) {
        if (name == slurms_job_name && job_name) environment.set(job_name_variable, *job_name);
        if (auto next = set(environment, name, value); !next) done = std::move(next);
    }
    return done;
}

std::vector<std::string> inherited_ranks(const Environment& task) {
    std::vector<std::string> names;
    const std::string given = task.get(ranks_variable).value_or("");
    std::string_view rest = given;
    while (!rest.empty()) {
        const std::string_view entry = take_until(rest, ' ');
        std::string name(entry.substr(0, entry.find('=')));
        const auto value = task.get(name);
        if (value && entry == rank_entry(name, *value)) names.push_back(std::move(name));
    }
    return names;
}

std::optional<std::string> own_job_name(const Environment& task) {
    const auto names = inherited_ranks(task);
    const bool is_given = std::find(names.begin(), names.end(), slurms_job_name) != names.end();
    return task.get(is_given ? job_name_variable : slurms_job_name);
}

std::optional<std::string> prepared_spec(const Environment& environment) {
    const std::string mark = step_mark(environment);
    const std::string value = environment.get(prepared_variable).value_or("");
    if (value.compare(0, mark.size(), mark) != 0) return std::nullopt;
    return value.substr(mark.size());
}

}  // namespace distgpu
