// Ranks as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {

// "0-3,5". `ranks`: ascending.
std::string number_ranges(const std::vector<std::uint32_t>& ranks);

// "rank 3", "ranks 0-3,5".
std::string ranks_text(const std::vector<std::uint32_t>& ranks);

}  // namespace distgpu
