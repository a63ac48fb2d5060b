#include "analysis/order_gain.h"

#include "analysis/statistics.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace distgpu::scaling {

std::optional<OrderGain> gain_of(const OrderComparison& orders) {
    std::vector<double> ratios(orders.by_name.times.size());
    if (ratios.empty()) return std::nullopt;
    std::transform(orders.by_name.times.begin(), orders.by_name.times.end(),
                   orders.by_switch.times.begin(), ratios.begin(), std::divides<>());
    std::sort(ratios.begin(), ratios.end());
    return OrderGain{percentile(ratios, 0.5), percentile(ratios, 0.25), percentile(ratios, 0.75)};
}

}  // namespace distgpu::scaling
