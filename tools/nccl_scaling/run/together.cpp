// See together.h.
#include "run/together.h"

#include <algorithm>
#include <cmath>

namespace distgpu::scaling {

std::vector<std::uint32_t> iterations_together(const std::vector<double>& seconds,
                                               std::uint32_t iterations) {
    constexpr double most_times = 10;  // so that a group without a network is not without an end
    const double window = iterations * *std::max_element(seconds.begin(), seconds.end());
    std::vector<std::uint32_t> counts;
    counts.reserve(seconds.size());
    for (const double one : seconds) {
        const double wanted = one > 0 ? std::ceil(window / one) : 0;
        counts.push_back(static_cast<std::uint32_t>(
            std::clamp(wanted, 1.0 * iterations, most_times * iterations)));
    }
    return counts;
}

}  // namespace distgpu::scaling
