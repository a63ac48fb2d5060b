// All that one task can find out by itself.
#pragma once

#include "check/check_list.h"
#include "check/report.h"

namespace distgpu {

// Where this process may run, and what else checks look at.
CheckFacts facts_of(std::shared_ptr<const OwnTask> own, Deadline deadline);

// Runs those of the checks that apply, one after the other. One that takes longer than until the
// deadline is a finding too, and goes on in a thread of its own.
Report look(const CheckFacts& facts, const Checks& checks);

}  // namespace distgpu
