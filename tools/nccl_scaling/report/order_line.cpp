#include "report/order_line.h"

#include "analysis/order_gain.h"
#include "analysis/statistics.h"
#include "base/format.h"
#include "report/names.h"

namespace distgpu::scaling {

std::string order_line(const Results& results) {
    if (!results.orders) return "";
    const OrderComparison& orders = *results.orders;
    const auto gain = gain_of(orders);
    if (!gain) return "# order: ranks by switch are in the same order as by name\n";
    const Subject subject{orders.collective, orders.type, orders.in_place, orders.bytes, orders.op};
    constexpr double us = 1e6;
    return formatted(
        "# order: {} takes {:.0f} us by switch, {:.0f} us by name: {:.2f} times as fast (quartiles "
        "of {}: {:.2f} to {:.2f}); the ring crosses switches {} (by name: {})\n",
        operation_name(subject), us * median(orders.by_switch.times),
        us * median(orders.by_name.times), gain->median,
        counted(orders.by_name.times.size(), "round"), gain->low, gain->high,
        counted(orders.by_switch.crossings, "time"), orders.by_name.crossings);
}

}  // namespace distgpu::scaling
