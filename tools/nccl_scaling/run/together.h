// How often groups that are measured at the same time run their collective.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace distgpu::scaling {

// Of the slowest group's loop. Seconds that it takes at least go before the iterations, and those
// that it takes at most before both; three iterations go before all.
struct LoopLength {
    std::uint32_t iterations = 0;
    double at_least = 0;
    double at_most = std::numeric_limits<double>::infinity();
};

// How often each group runs its collective, of which one run takes so many seconds: for as long as
// the slowest group's loop lasts, so that they stay together, but at most ten times as often, and a
// thousand times. 0 seconds: a group that runs nothing.
std::vector<std::uint32_t> iterations_together(const std::vector<double>& seconds,
                                               const LoopLength& length);

}  // namespace distgpu::scaling
