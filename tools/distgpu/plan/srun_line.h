// An srun line as `distgpu plan -- srun ...` gets it: what of its options decides the plan.
#pragma once

#include "base/result.h"
#include "plan/shape.h"

#include <string>
#include <vector>

namespace distgpu {

struct SrunLine {
    std::string spec;  // --distgpu=
    ShapeOptions shape;
    std::vector<std::string> program;  // with its arguments
    std::vector<Error> left_out;       // options that would have a part in the plan
};

// `words`: srun, its options, the program. Without -N and -w the step is taken to have one node, or
// as many as its tasks need at --ntasks-per-node. Options are those of srun 22.05 to 26.05, also
// abbreviated; those that say nothing of the plan are skipped.
// Errors: no --distgpu; an option that srun has not or that lacks its value; one that deals the
// tasks to the nodes in a way that only Slurm knows.
Result<SrunLine> read_srun_line(const std::vector<std::string>& words);

}  // namespace distgpu
