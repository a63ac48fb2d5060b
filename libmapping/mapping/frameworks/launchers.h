// Whether the program of a step starts the processes that its mode leaves to it, and no others.
#pragma once

#include "base/result.h"
#include "mapping/frameworks/framework.h"
#include "mapping/frameworks/launcher_options.h"

#include <optional>

namespace distgpu {

// Judges step.facts.program, behind `distgpu exec`, programs such as `timeout 1h` and in the text
// of `bash -c`, by the records' `launchers` and `replaces`. Nothing: it fits, or does not show what
// it starts. A launcher counts as it is typed, by its path, and as a script or module of Python:
// "python3 -u -m torch.distributed.run".
std::optional<Misfit> program_misfit(const StepView& step);

// The mode's launcher that the program is or starts, with its options.
struct GivenLauncher {
    std::string_view name;  // as the record writes it
    GivenOptions options;
};
std::optional<GivenLauncher> given_launcher(const StepView& step);

// Whether the program is one of the launchers of the step's mode, or one of Python's where any may
// be the mode's.
bool is_launcher(const StepView& step);

}  // namespace distgpu
