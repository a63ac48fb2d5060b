// A training step as --step has it: compute=120ms,allreduce=25M*40,allgather=1G
#pragma once

#include "analysis/training_step.h"
#include "base/result.h"
#include "run/plan.h"

#include <string>

namespace distgpu::scaling {

// Seconds of compute (s, ms or us) once, and collectives, with or without their hyphens, each with
// a size as for -b and how often it is called. Errors: another text; no collective; one that is not
// measured, or not in sizes on both sides of this one.
Result<TrainingStep> parse_step(const std::string& text, const Wishes& wishes);

}  // namespace distgpu::scaling
