// What a task's environment holds of its step beside Slurm's own variables: what srun sent, and the
// layout that distgpu handed on.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "mapping/texts/sent_step.h"

#include <optional>
#include <string>

namespace distgpu {

// The SPEC that srun asked for, where nothing prepared this task: Slurm has not loaded the plugin
// on its node. Nothing: the task is prepared, or nobody asked.
std::optional<std::string> unanswered_spec(const Environment& environment);

// What srun sent beside it; the plugin of its node would have removed it. Empty: it sent none for
// this step.
SentStep sent_step(const Environment& environment);

// Sets SLURM_DISTGPU_LAYOUT, "17.0 " and the layout's line, where the environment does not tell the
// layout by itself (heterogeneous, arbitrary, block from Slurm 26.05 on, nodes in another order),
// else removes it. The step's id keeps a step inside from taking it for its own. A layout that is
// too long for a variable (13,000 blocks of an arbitrary one) is not handed on.
void hand_on_layout(Environment& environment, const StepLayout& layout);

// Nothing: none was handed on for this step. Error: not what hand_on_layout() writes.
std::optional<Result<StepLayout>> handed_layout(const Environment& environment);

}  // namespace distgpu
