// How long a model's training step takes on a group, from the measured times of its collectives,
// and the weak and strong scaling that follows. DDP and FSDP both hide communication behind
// compute; what is left over is what scaling loses. That a GPU's compute and collectives also slow
// each other down is left out, so that the truth is somewhat lower.
#pragma once

#include "analysis/efficiency.h"
#include "analysis/profiles.h"
#include "results.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace distgpu::scaling {

// Seconds of a collective with a buffer of so many bytes, without compute beside it.
using CommunicationTime = std::function<double(Collective, double bytes)>;

// Seconds of one step. `work` is the share of the profile's batch that each GPU has, 0 to 1.
//
// DDP: bucket b of the gradients is ready when the backward pass came so far,
//   ready_b = T_f + T_b share_b, share_b that of buckets 1 to b in all bytes;
// buckets follow one another,
//   finish_b = max(ready_b, finish_(b-1)) + t(G_b);
// and T = finish_last: the last bucket is ready when compute ends.
//
// FSDP: one stream of collectives beside one of compute, a layer at a time. A layer computes when
// it is gathered; the next one is gathered meanwhile, in the backward pass ahead of the layer's
// reduce-scatter.
double step_seconds(const Profile& profile, double work, const CommunicationTime& time);

// The same on one rank: compute alone.
double step_seconds(const Profile& profile, double work);

struct StepScaling {
    std::vector<ScalingPoint> weak;    // each GPU has the profile's batch
    std::vector<ScalingPoint> strong;  // each GPU of the fewest nodes has it, more nodes share it
};

// Over the groups of nodes that measured the profile's collectives, and one node of one GPU, which
// needs none. Empty: fewer than two such groups.
StepScaling step_scaling(const Results& results, const Profile& profile);

}  // namespace distgpu::scaling
