// Which ranks of a step that makes progress the others wait for.
#pragma once

#include "inspect/ranks.h"

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {

struct Straggler {
    std::uint32_t rank = 0;
    std::string node;
    std::string site;  // where it was most often while others waited
    double share = 0;  // of the moments: it did not wait, and more than half of the others did

    bool operator==(const Straggler&) const = default;
};

// Up to 8, the worst first: ranks for which the others waited at more than 30% of at least 10
// moments, and more than twice as often as for most ranks. The nodes' moments count as the same if
// they have the same number: each node begins within a second of the others.
std::vector<Straggler> stragglers_of(const std::vector<RankSample>& ranks);

}  // namespace distgpu
