#include "node/step_variables.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/texts/layout_line.h"
#include "mapping/texts/variables.h"
#include "node/task_environment.h"
#include "slurm/step_environment.h"

#include <string_view>
#include <utility>

namespace distgpu {
namespace {

bool tells_layout(const Environment& environment, const StepLayout& layout) {
    const auto derived = derive_layout(read_step_environment(environment));
    return derived && *derived == layout;
}

}  // namespace

std::optional<std::string> unanswered_spec(const Environment& environment) {
    auto spec = environment.get(spec_variable);
    if (!spec || spec->empty() || prepared_spec(environment)) return std::nullopt;
    return spec;
}

SentStep sent_step(const Environment& environment) {
    const auto number = [&](const char* name) {
        return whole_number(environment.get(name).value_or("")).value_or(0);
    };
    const StepSize size{number("SLURM_STEP_NUM_NODES"), number("SLURM_STEP_NUM_TASKS")};
    const KnownStep known{number("SLURM_JOB_ID"), number("SLURM_STEP_ID"), size};
    auto sent = decode(environment.get(sent_variable).value_or(""), known);
    return sent && *sent ? **std::move(sent) : SentStep{};
}

void hand_on_layout(Environment& environment, const StepLayout& layout) {
    environment.unset(layout_variable);
    if (tells_layout(environment, layout)) return;
    const std::string text = step_mark(environment) + layout_line(layout);
    if (text.size() <= max_sent_length) environment.set(layout_variable, text);
}

std::optional<Result<StepLayout>> handed_layout(const Environment& environment) {
    const std::string mark = step_mark(environment);
    const std::string text = environment.get(layout_variable).value_or("");
    if (!text.starts_with(mark)) return std::nullopt;
    auto layout = read_layout_line(std::string_view(text).substr(mark.size()));
    if (layout) return layout;
    return Error{layout_variable,
                 formatted("{}: {}", layout.error().object, layout.error().problem),
                 formatted("unset {}", layout_variable)};
}

}  // namespace distgpu
