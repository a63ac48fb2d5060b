// The plan of a step as text, in the form distgpu.plan/1.
#pragma once

#include "shape.h"

#include <distgpu/plan.h>
#include <distgpu/rendezvous.h>
#include <distgpu/request.h>
#include <distgpu/result.h>

#include <string>

namespace distgpu {

// Plans all nodes. One rank a line; ends with a newline. Precondition: request.framework is set.
// Errors: as plan().
Result<std::string> plan_json(const Request& request, const Shape& shape, const StepId& step);

}  // namespace distgpu
