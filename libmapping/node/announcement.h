// What a task says of the plan before its program starts.
#pragma once

#include "mapping/plan/plan.h"

#include <string>
#include <vector>

namespace distgpu {

struct Announcement {
    std::vector<std::string> lines;  // for standard error: what `verbose` asks for, the warnings
    std::string dry_run;             // for standard output, where no program runs; else empty
};

// The task of rank 0 speaks for the whole step.
Announcement announcement(const Request& request, const StepLayout& layout, const NodeFacts& node,
                          const NodePlan& plan, LocalRank local);

}  // namespace distgpu
