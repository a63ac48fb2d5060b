#include "analysis/loop_statistics.h"

#include "analysis/statistics.h"

#include <algorithm>
#include <numeric>

namespace distgpu::scaling {

Result<Statistics> loop_statistics(const std::vector<std::vector<double>>& ends_of_ranks) {
    if (ends_of_ranks.empty()) return Statistics{};
    std::vector<double> seconds(ends_of_ranks.front().size());
    double loops = 0;
    for (const auto& ends : ends_of_ranks) {
        if (ends.size() != seconds.size()) {
            return Error{"the ranks of one loop", "sent different numbers of times", ""};
        }
        if (ends.empty()) continue;
        std::transform(seconds.begin(), seconds.end(), ends.begin(), seconds.begin(),
                       [](double a, double b) { return std::max(a, b); });
        loops += ends.back();
    }
    if (seconds.empty()) return Statistics{};
    const auto iterations = static_cast<double>(seconds.size());
    std::adjacent_difference(seconds.begin(), seconds.end(), seconds.begin());
    Statistics statistics = statistics_of(std::move(seconds));
    statistics.mean = loops / static_cast<double>(ends_of_ranks.size()) / iterations;
    return statistics;
}

}  // namespace distgpu::scaling
