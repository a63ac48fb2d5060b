// The variables that a task has, beside those that the plan gives it.
#pragma once

#include "base/environment.h"
#include "mapping/plan/plan.h"

#include <optional>
#include <string>
#include <vector>

namespace distgpu {

struct Difference {
    std::string name;
    std::optional<std::string> present;  // nothing: not set, or empty
    std::optional<std::string> planned;  // nothing: to be removed

    bool operator==(const Difference&) const = default;
};

// What of the framework's variables is missing, was to be removed, or is another rank or size than
// planned. The values of others are not compared, nor devices and what else may be the user's own:
// the plugin knows more of them.
std::vector<Difference> differences(const Environment& environment, const TaskPlan& task);

}  // namespace distgpu
