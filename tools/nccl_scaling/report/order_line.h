// What the table says of the two orders of the ranks.
#pragma once

#include "results/results.h"

#include <string>

namespace distgpu::scaling {

// "# order: all-reduce float, 2 MiB takes 335 ms by switch, 1292 ms by name: 3.85 times as fast
// (quartiles of 30 rounds: 3.74 to 3.97); the ring crosses switches 2 times (by name: 8)\n".
// Empty: they were not asked for.
std::string order_line(const Results& results);

}  // namespace distgpu::scaling
