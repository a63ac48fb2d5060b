// Whether the program of a step starts the processes that its mode leaves to it, and no others.
#pragma once

#include "base/result.h"
#include "mapping/frameworks/framework.h"

#include <optional>

namespace distgpu {

// A program that does not fit the mode.
struct Misfit {
    Error error;
    bool impossible = false;  // else: it may be meant
};

// Judges step.facts.program, behind `distgpu exec` where that starts it, by the records'
// `launchers` and `replaces`. Nothing: it fits, or does not show what it starts (`bash -c`, a
// wrapper). A launcher counts as it is typed, by its path, and as a script or module of Python:
// "python3 -u -m torch.distributed.run".
std::optional<Misfit> program_misfit(const StepView& step);

// Whether the program is one of the launchers of the step's mode, or one of Python's where any may
// be the mode's.
bool is_launcher(const StepView& step);

}  // namespace distgpu
