// The run's last line.
#pragma once

#include "analysis/blame.h"
#include "report/headline.h"
#include "results/results.h"

#include <optional>
#include <string>

namespace distgpu::scaling {

// "8 nodes: all-reduce 352.1 GB/s at 4 GiB, 78% of 1 node; limiter: node17/mlx5_3". Several
// limiters are separated by ", ", at most 8 are named. "limiter: none" only where a tournament
// could have found one and nothing speaks against it, else "undecided, because ...", "cannot be
// determined with 2 nodes", or "not measured" where pairs were not.
std::string verdict_line(const Results& results, const Blame& blame,
                         const std::optional<Headline>& headline);

}  // namespace distgpu::scaling
