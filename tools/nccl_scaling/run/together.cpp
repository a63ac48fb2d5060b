#include "run/together.h"

#include <algorithm>
#include <cmath>

namespace distgpu::scaling {
namespace {

constexpr double fewest = 3;
constexpr double most = 1000;      // each rank tells the time of each iteration
constexpr double most_times = 10;  // so that a group without a network is not without an end

double iterations_of_slowest(double seconds, const LoopLength& length) {
    const double asked = length.iterations;
    if (seconds <= 0) return asked;
    const double longer = std::min(std::ceil(length.at_least / seconds), most);
    return std::max(std::min(std::max(asked, longer), length.at_most / seconds),
                    std::min(asked, fewest));
}

}  // namespace

std::vector<std::uint32_t> iterations_together(const std::vector<double>& seconds,
                                               const LoopLength& length) {
    const double slowest = *std::max_element(seconds.begin(), seconds.end());
    const double least = std::floor(iterations_of_slowest(slowest, length));
    const double limit = std::max(least, std::min(most, most_times * least));
    std::vector<std::uint32_t> counts;
    counts.reserve(seconds.size());
    for (const double one : seconds) {
        const double wanted = one > 0 ? std::ceil(least * slowest / one) : 0;
        counts.push_back(static_cast<std::uint32_t>(std::clamp(wanted, least, limit)));
    }
    return counts;
}

}  // namespace distgpu::scaling
