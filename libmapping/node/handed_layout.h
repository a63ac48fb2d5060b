// The layout of a step that its tasks cannot derive from their variables (heterogeneous, arbitrary,
// block from Slurm 26.05 on), as distgpu hands it on to them in SLURM_DISTGPU_LAYOUT: the step's
// id, so that a step inside is not misled, its nodes, the blocks of the task map, and where the
// user chose it the order of the nodes: "17.0 n[1,3] 0.1.2.1,1.1.1.1 n[3,1]".
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/layout/step_layout.h"

#include <optional>

namespace distgpu {

// Sets the variable where the environment does not tell the layout by itself, else removes it. A
// layout that is too long for a variable (13,000 blocks of an arbitrary one) is not handed on.
void hand_on_layout(Environment& environment, const StepLayout& layout);

// Nothing: none was handed on for this step. Error: not what hand_on_layout() writes.
std::optional<Result<StepLayout>> handed_layout(const Environment& environment);

}  // namespace distgpu
