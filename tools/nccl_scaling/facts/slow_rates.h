// Which ranks' rates are low beside those of the others: pure.
#pragma once

#include "facts/rank_facts.h"

#include <vector>

namespace distgpu::scaling {

// Adds to what is unusual of each: "GPU 3: copies within its memory at 61% of the median of all
// ranks, 2.9 TB/s". Healthy GPUs of one model differ by a few per cent.
void add_slow_rates(std::vector<RankFacts>& ranks);

}  // namespace distgpu::scaling
