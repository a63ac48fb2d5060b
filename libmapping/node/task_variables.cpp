#include "node/task_variables.h"

#include "mapping/binding/device_values.h"
#include "mapping/frameworks/framework.h"

#include <algorithm>
#include <string_view>

namespace distgpu {
namespace {

bool may_be_the_users(std::string_view name) {
    for (const auto variables : {common_variables(), device_variables()}) {
        if (std::any_of(variables.begin(), variables.end(),
                        [name](const SetVariable& variable) { return variable.name == name; })) {
            return true;
        }
    }
    return false;
}

// Ranks and sizes are numbers; other values name addresses, of which the plugin knows more.
bool is_rank_or_size(std::string_view name, std::string_view value) {
    return name != "MASTER_ADDR" && name != "MASTER_PORT" && !value.empty() &&
           value.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_set(const TaskPlan& task, std::string_view name) {
    return std::any_of(task.set.begin(), task.set.end(),
                       [name](const auto& variable) { return variable.first == name; });
}

bool matches(std::string_view name, std::string_view pattern) {
    if (pattern.back() != '*') return name == pattern;
    pattern.remove_suffix(1);
    return name.substr(0, pattern.size()) == pattern;
}

bool is_removed(const TaskPlan& task, std::string_view name) {
    return !is_set(task, name) &&
           std::any_of(task.unset.begin(), task.unset.end(),
                       [name](const std::string& pattern) { return matches(name, pattern); });
}

}  // namespace

std::vector<Difference> differences(const Environment& environment, const TaskPlan& task) {
    std::vector<Difference> found;
    for (const auto& [name, value] : task.set) {
        if (may_be_the_users(name)) continue;
        const std::string present = environment.get(name).value_or("");
        const bool is_there = !present.empty();
        if (is_there && (present == value || !is_rank_or_size(name, value))) continue;
        found.push_back({name, is_there ? std::optional(present) : std::nullopt, value});
    }
    for (const std::string& name : environment.names()) {
        if (is_removed(task, name)) found.push_back({name, environment.get(name), std::nullopt});
    }
    return found;
}

}  // namespace distgpu
