// A golden case: a SPEC and the shape of a step as text, and the plan of all
// its nodes as JSON.
#pragma once

#include "base/result.h"

#include <string>
#include <string_view>

namespace distgpu::golden {

// The file `case`: one line each.
struct Case {
    std::string about;  // what the case shows, and where its values come from
    std::string spec;   // as after --distgpu=
    // --nodelist LIST --tasks-per-node COUNTS, --distribution block (default)|
    // cyclic|plane=N|arbitrary=NODE,NODE,..., --gpus-per-node N (default 0), --cpus-per-task N
    // (default 8), --order NODES (the nodes by node rank). With arbitrary the counts are left out:
    // the node of each task says them.
    std::string shape;
    // The command line behind srun's options, if the plan depends on it; its words stand between
    // blanks.
    std::string program{};
};

// Refused: an unknown, repeated or missing line.
Result<Case> read_case(std::string_view text);

// The plan in the form distgpu.plan/1, one rank a line: job 4242, step 0, no
// exported variable, no reserved port, addresses not known.
Result<std::string> case_plan(const Case& golden_case);

}  // namespace distgpu::golden
