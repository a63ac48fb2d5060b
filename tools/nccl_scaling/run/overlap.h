// How much compute and collectives on the same GPU slow each other down.
#pragma once

#include "backend/backend.h"
#include "results.h"
#include "run/measure.h"

#include <tl/expected.hpp>

#include <vector>

namespace distgpu::scaling {

// Of the all-reduce: DDP's default bucket_cap_mb, which counts in MiB.
inline constexpr double ddp_bucket_bytes = 25.0 * 1024 * 1024;

// Each alone, and both at once.
struct OverlapTrial {
    Compute::Seconds alone;
    Compute::Seconds together;
};

// One rank's trials, as many as the loop has iterations: an all-reduce of DDP's bucket in float,
// and compute that takes about as long. Every rank of the group calls it. `bucket`:
// ddp_bucket_bytes for collectives to work on.
tl::expected<std::vector<OverlapTrial>, Fault> overlap_trials(Compute& compute, Communicator& group,
                                                              std::byte* bucket, const Loop& loop);

// Of all ranks' trials: of each trial the slowest rank counts, as elsewhere, and of those the
// median. What is faster together is not slowed down: 0. Precondition: every rank has as many
// trials, one at least.
Overlap overlap_of(const std::vector<std::vector<OverlapTrial>>& ranks);

}  // namespace distgpu::scaling
