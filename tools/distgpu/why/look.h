// Looks at a running step until it is certain whether it hangs.
#pragma once

#include "base/result.h"
#include "inspect/sample_all_nodes.h"
#include "slurm/running_step.h"
#include "why/diagnosis.h"

#include <chrono>

namespace distgpu {

// Runs `distgpu why --node` on each node for `length`.
Result<StepSample> sample_step(const RunningStep& step, std::chrono::seconds length);

// Puts the moments of an earlier sample of the step before those of this one.
void prepend_moments(const StepSample& earlier, StepSample& sample);

// Leaves out of the comparison of later samples with `earlier` what the processes did because of
// `sample`, which was taken in between.
void exclude_sampling_cost(NodeSample& earlier, const NodeSample& sample);

// Diagnoses the step from a sample of that length.
Result<Diagnosis> look_at(const RunningStep& step, std::chrono::seconds length);

// The same after 2 seconds, if what they show is certain: a rank that has ended or is stopped, or a
// silence between the ranks that is longer than most pauses of a healthy training. Otherwise looks
// longer: for ranks that poll or were silent for less than 20 s until that time is over; for ranks
// that move until it can say which of them the others wait for.
Result<Diagnosis> look_at(const RunningStep& step);

// Over this time `distgpu why` looks for slow ranks.
constexpr std::chrono::seconds slow_look{20};

}  // namespace distgpu
