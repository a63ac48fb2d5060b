// What a diagnosis says: who hangs, who waits, who moves.
#pragma once

#include "inspect/node_sample.h"
#include "why/diagnosis.h"

#include <vector>

namespace distgpu {

// Adds the findings, the most important first, the kind of the first one, and the ranks that they
// accuse, to a diagnosis of `samples` that is otherwise complete. Ranks that wait for others are
// accused only if no rank is seen for which they could wait, and only of being at different places.
void add_findings(const std::vector<NodeSample>& samples, Diagnosis& diagnosis);

// Whether every node sent a sample.
bool all_nodes_sampled(const std::vector<NodeSample>& samples, const Diagnosis& diagnosis);

}  // namespace distgpu
