// Decides, from the samples of a step's nodes, which findings a diagnosis has, whether the step
// makes progress, and whether a hang is proven.
#pragma once

#include "inspect/node_sample.h"
#include "why/diagnosis.h"

#include <cstdint>
#include <vector>

namespace distgpu {

// Adds the findings, the most important first, and the kind of the first one, to a diagnosis of
// `samples` that is otherwise complete.
void add_findings(const std::vector<NodeSample>& samples, Diagnosis& diagnosis);

enum class Progress : std::uint8_t {
    stalled,
    unclear,  // the progress of some ranks is unknown
    moving,
};

// Whether the ranks in `now`, and their worker processes, have moved since `before`, a sample of
// the same node.
Progress progress_between(const NodeSample& before, const NodeSample& now);

// Whether any rank of the step moved, or any node had more than background traffic
// (exceeds_background_traffic()), while the nodes were sampled. `diagnosis`: of `samples`.
Progress step_progress(const std::vector<NodeSample>& samples, const Diagnosis& diagnosis);

// Excludes from the comparison with `baseline` what the processes did because of `sample`, which
// was taken after it.
void exclude_sampling_cost(std::vector<NodeSample>& baseline, const NodeSample& sample);

// Whether a rank that is not known to wait (may_wait()) stood still from the end of the samples
// `baseline` to the beginning of the samples `now`, and no rank did anything outside a collective.
// A rank stood still if its stack is the same and the kernel neither switched to its main thread or
// any process below it, nor counted a tick of CPU for them. Other threads of a rank are ignored:
// those of NCCL and of the frameworks spin and poll, whether it hangs or not.
bool proves_hang(const std::vector<NodeSample>& baseline, const std::vector<NodeSample>& now);

}  // namespace distgpu
