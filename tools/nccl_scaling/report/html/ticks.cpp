// See ticks.h.
#include "report/html/ticks.h"

#include <array>
#include <cmath>

namespace distgpu::scaling::html {
namespace {

constexpr double fewest_steps = 4;

// The largest of 1, 2 and 5 times a power of ten that makes at least four steps.
double linear_step(double highest) {
    const double target = highest / fewest_steps;
    const double power = std::pow(10, std::floor(std::log10(target)));
    for (const double factor : {5.0, 2.0}) {
        if (factor * power <= target) return factor * power;
    }
    return power;
}

}  // namespace

std::vector<double> linear_ticks(double highest) {
    if (!(highest > 0)) return {0, 1};
    const double step = linear_step(highest);
    // The tolerance keeps a multiple of the step from being taken for more than it is.
    const auto steps = static_cast<int>(std::ceil(highest / step - 1e-9));
    std::vector<double> ticks;
    ticks.reserve(static_cast<std::size_t>(steps) + 1);
    for (int i = 0; i <= steps; ++i) ticks.push_back(i * step);
    return ticks;
}

std::vector<double> power_of_two_ticks(double low, double high, std::size_t most) {
    const auto first = static_cast<int>(std::ceil(std::log2(low) - 1e-9));
    const auto last = static_cast<int>(std::floor(std::log2(high) + 1e-9));
    const int count = last - first + 1;
    const int room = static_cast<int>(most);
    const int stride = (count + room - 1) / room;
    std::vector<double> ticks;
    ticks.reserve(most);
    for (int power = first; power <= last; power += stride) ticks.push_back(std::exp2(power));
    return ticks;
}

}  // namespace distgpu::scaling::html
