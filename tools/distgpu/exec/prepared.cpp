// See prepared.h.
#include "exec/prepared.h"

#include "node/variables.h"

#include <distgpu/framework.h>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace distgpu {
namespace {

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Ranks and sizes, which are numbers; other values may name addresses.
bool is_compared(std::string_view name, std::string_view value) {
    if (!is_number(value) || name == "MASTER_ADDR" || name == "MASTER_PORT") return false;
    for (const auto variables : {common_variables(), device_variables()}) {
        if (std::any_of(variables.begin(), variables.end(),
                        [name](const SetVariable& variable) { return variable.name == name; })) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool is_prepared(const Environment& environment) {
    return environment.get(given_variable).has_value();
}

std::optional<Error> disagreement(const Environment& environment, const TaskPlan& task) {
    for (const auto& [name, value] : task.set) {
        if (!is_compared(name, value)) continue;
        const auto present = environment.get(name);
        if (present == value) continue;
        return Error{
            name,
            present ? fmt::format("{} from srun --distgpu, {} from distgpu exec", *present, value)
                    : fmt::format("not set by srun --distgpu, {} by distgpu exec", value),
            fmt::format("use one of the two with one mode, or unset {}", given_variable)};
    }
    return std::nullopt;
}

}  // namespace distgpu
