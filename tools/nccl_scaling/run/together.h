// How groups that are measured at the same time stay together: whose collective is faster repeats
// it more often.
#pragma once

#include <cstdint>
#include <vector>

namespace distgpu::scaling {

// How often each group runs its collective, of which one run takes so many seconds: `iterations`
// times at least, and for as long as the slowest group needs for those, but at most ten times as
// often. 0 seconds: a group that runs nothing.
std::vector<std::uint32_t> iterations_together(const std::vector<double>& seconds,
                                               std::uint32_t iterations);

}  // namespace distgpu::scaling
