// The layout of a step as one line, in which distgpu's parts send it to each other: the nodes, the
// blocks of the task map ("NODE.NODES.TASKS_PER_NODE.REPEAT"), and the order of the nodes where
// somebody chose one: "n[1,3] 0.1.2.1,1.1.1.1 n[3,1]".
#pragma once

#include "base/result.h"
#include "mapping/layout/step_layout.h"

#include <string>
#include <string_view>

namespace distgpu {

std::string layout_line(const StepLayout& layout);

// Errors: no such line; a layout that contradicts itself, or has more nodes or tasks than `most`.
// Memory is bound to `most` and to the line's length, never to what its numbers claim.
Result<StepLayout> read_layout_line(std::string_view line, StepSize most = max_step_size);

}  // namespace distgpu
