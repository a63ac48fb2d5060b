// See task_environment.h.
#include "task_environment.h"

#include "variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {
namespace {

std::uint32_t count_devices(spank_t spank) {
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
        const auto list = step_variable(spank, name);
        if (!list || list->empty()) continue;
        return static_cast<std::uint32_t>(std::count(list->begin(), list->end(), ',') + 1);
    }
    return 0;
}

// Variables that stay as they are where the user exported them, but for the rendezvous.
std::vector<std::string_view> users_own() {
    std::vector<std::string_view> names;
    for (const auto variables : {common_variables(), device_variables()}) {
        for (const SetVariable& variable : variables) {
            if (variable.users_own) names.push_back(variable.name);
        }
    }
    return names;
}

// "NAME=VALUE" of those that distgpu gives this task.
std::string given_values(const TaskPlan& task) {
    std::vector<std::string_view> marked = users_own();
    marked.insert(marked.end(), {"MASTER_ADDR", "MASTER_PORT"});
    std::string text;
    for (const auto& [name, value] : task.set) {
        if (std::find(marked.begin(), marked.end(), name) == marked.end()) continue;
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
    }
    return text;
}

void unset(spank_t spank, std::string_view pattern) {
    if (pattern.back() != '*') {
        spank_unsetenv(spank, std::string(pattern).c_str());
        return;
    }
    pattern.remove_suffix(1);
    std::vector<std::string> names;
    for (const std::string_view variable : step_variables(spank)) {
        if (variable.substr(0, pattern.size()) == pattern) {
            names.emplace_back(variable.substr(0, variable.find('=')));
        }
    }
    for (const std::string& name : names) spank_unsetenv(spank, name.c_str());
}

// spank_setenv() returns success although it dropped a value that is too long:
// read it back.
bool set(spank_t spank, const std::string& name, const std::string& value) {
    constexpr int overwrite = 1;
    if (spank_setenv(spank, name.c_str(), value.c_str(), overwrite) == ESPANK_SUCCESS &&
        step_variable(spank, name.c_str()) == value) {
        return true;
    }
    slurm_error("distgpu: variable %s: Slurm did not take it (%zu bytes); report this",
                name.c_str(), value.size());
    return false;
}

}  // namespace

std::optional<std::string> exported(spank_t spank, std::string_view name) {
    auto value = step_variable(spank, std::string(name).c_str());
    if (!value || value->empty()) return std::nullopt;
    const std::string given = step_variable(spank, given_variable).value_or("");
    std::string_view rest = given;
    while (!rest.empty()) {
        const std::string_view entry = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
        if (entry == fmt::format("{}={}", name, *value)) return std::nullopt;
    }
    return value;
}

NodeFacts read_node_facts(spank_t spank) {
    NodeFacts facts;
    facts.gpus = count_devices(spank);
    facts.cpus_per_task = item(spank, S_STEP_CPUS_PER_TASK).value_or(0);
    for (const std::string_view name : users_own()) {
        if (exported(spank, name)) facts.exported.emplace_back(name);
    }
    if (const auto text = step_variable(spank, "SLURM_CPUS_ON_NODE")) {
        std::from_chars(text->data(), text->data() + text->size(), facts.cpus);
    }
    return facts;
}

void remove_request(spank_t spank) {
    for (const char* name : {spec_variable, carried_variable, inherited_variable}) {
        spank_unsetenv(spank, name);
    }
}

Outcome set_task_environment(spank_t spank, const NodePlan& plan, LocalId local) {
    const TaskPlan& task = plan.tasks[local.value];
    remove_request(spank);
    for (const std::string& pattern : task.unset) unset(spank, pattern);
    bool all_set = set(spank, given_variable, given_values(task));
    for (const auto& [name, value] : task.set) all_set = set(spank, name, value) && all_set;
    return all_set ? Outcome::ok : Outcome::refused;
}

}  // namespace distgpu
