// Where an axis has its marks.
#pragma once

#include <cstddef>
#include <vector>

namespace distgpu::scaling::html {

// 0 and the multiples of 1, 2 or 5 times a power of ten up to the first that is at least `highest`;
// 4 to 6 steps. Of 0 or less: 0 and 1.
std::vector<double> linear_ticks(double highest);

// Powers of two within low .. high, both above 0; every second, third, ... where more than `most`.
std::vector<double> power_of_two_ticks(double low, double high, std::size_t most);

}  // namespace distgpu::scaling::html
