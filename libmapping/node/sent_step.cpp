// See sent_step.h.
#include "node/sent_step.h"

#include "base/values.h"
#include "node/task_environment.h"
#include "node/variables.h"

#include <utility>

namespace distgpu {

std::optional<std::string> unanswered_spec(const Environment& environment) {
    auto spec = environment.get(spec_variable);
    if (!spec || spec->empty() || prepared_spec(environment)) return std::nullopt;
    return spec;
}

CarriedStep sent_step(const Environment& environment) {
    const auto number = [&](const char* name) {
        return whole_number(environment.get(name).value_or("")).value_or(0);
    };
    const StepSize size{number("SLURM_STEP_NUM_NODES"), number("SLURM_STEP_NUM_TASKS")};
    const KnownStep known{number("SLURM_JOB_ID"), number("SLURM_STEP_ID"), size};
    auto sent = decode(environment.get(carried_variable).value_or(""), known);
    return sent && *sent ? **std::move(sent) : CarriedStep{};
}

}  // namespace distgpu
