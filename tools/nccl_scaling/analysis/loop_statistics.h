// The times of a loop of collectives, from what its ranks saw of it.
#pragma once

#include "base/result.h"
#include "results/results.h"

#include <vector>

namespace distgpu::scaling {

// Of each rank, the seconds from the loop's begin, which is the same moment on all, to the end of
// each iteration. An iteration lasts from when all ranks are done with the one before to when all
// are done with it: the slowest rank's time, without that a rank which was late before, and so has
// less left to do, counts twice. The mean is nccl-tests': each rank's loop divided by the number of
// iterations, averaged over the ranks. Of no rank: all 0. Error: not all have as many.
Result<Statistics> loop_statistics(const std::vector<std::vector<double>>& ends_of_ranks);

}  // namespace distgpu::scaling
