// The order of a planned step's nodes.
#pragma once

#include "base/result.h"
#include "mapping/layout/step_layout.h"
#include "mapping/request/request.h"
#include "slurm/rank_order.h"

namespace distgpu {

// In the order that the request asks for, unless the step was started in one. The text is empty
// where there is none. Errors: as read_order_list() and put_in_order().
Result<OrderedLayout> ordered(const Request& request, StepLayout layout);

// Whether it matters in which order Slurm deals the tasks: not where each node has as many, and
// the ranks have an order of their own.
bool depends_on_slurms_order(const StepLayout& layout);

}  // namespace distgpu
