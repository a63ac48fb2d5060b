// How much faster the ranks are by switch than by name.
#pragma once

#include "results/results.h"

#include <optional>

namespace distgpu::scaling {

// Time by name over time by switch, of the rounds' pairs: above 1 it is faster by switch.
struct OrderGain {
    double median = 0;
    double low = 0;  // the quartiles
    double high = 0;

    bool operator==(const OrderGain&) const = default;
};

// Each round is judged by itself, so that a network that drifts does not count. Nothing: there was
// no round. Precondition: both have as many times.
std::optional<OrderGain> gain_of(const OrderComparison& orders);

}  // namespace distgpu::scaling
