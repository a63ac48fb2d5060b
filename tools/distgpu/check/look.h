// All that one task can find out by itself.
#pragma once

#include "check/check_list.h"
#include "check/report.h"

#include <string>

namespace distgpu {

// Where this process may run, and what else checks look at.
CheckFacts facts_of(std::shared_ptr<const OwnTask> own,
                    std::shared_ptr<const Environment> environment, Deadline deadline);

struct Looked {
    Report report;
    std::string trial_host;  // as in CheckResult
};

// Runs those of the checks that apply, one after the other. One that takes longer than until the
// deadline is a finding too, and goes on in a thread of its own.
Looked look(const CheckFacts& facts, const Checks& checks);

}  // namespace distgpu
