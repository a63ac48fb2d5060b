// The nodes of a step as drawings: one for all nodes on which the same happens.
#pragma once

#include "base/result.h"
#include "picture/node_picture.h"
#include "plan/plan_input.h"

#include <string>
#include <vector>

namespace distgpu {

// Nodes with the same hardware, whose tasks got the same by local rank.
struct NodeKind {
    NodePicture picture;
    std::vector<std::string> nodes;
    std::vector<std::string> ranks;  // of each of them: "8-15"
};

struct StepPicture {
    std::string title;  // "pytorch: 128 ranks on 16 nodes"
    std::vector<NodeKind> kinds;
    std::size_t left_out = 0;  // nodes of further kinds, beyond what anybody looks at
    Warnings warnings;
};

// The topologies are those of `input`, which has to outlive it. Errors: as plan(); no node's
// topology is known.
Result<StepPicture> picture_of(const PlanInput& input);

// Of the first kind: a file holds one picture.
std::string to_svg(const StepPicture& step);

// A page by itself with all kinds, and behind each its nodes and their ranks.
std::string to_html(const StepPicture& step);

}  // namespace distgpu
