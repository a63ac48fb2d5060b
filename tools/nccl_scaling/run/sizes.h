// Sizes of buffers as the command line has them.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace distgpu::scaling {

inline constexpr std::uint64_t largest_size = std::uint64_t{1} << 40U;

// "8", "1K", "64M", "1G": powers of 1024; small letters too. Errors: not such a text, 0, more than
// largest_size.
Result<std::uint64_t> parse_size(std::string_view text);

struct SizeRange {
    std::uint64_t begin = 8;
    std::uint64_t end = std::uint64_t{64} << 20U;
    std::uint32_t factor = 2;
    std::optional<std::uint64_t> step;  // added, instead of the factor
};

// From begin to at most end. Errors: begin > end, a factor below 2, more than 10,000 sizes.
Result<std::vector<std::uint64_t>> sizes_of(const SizeRange& range);

}  // namespace distgpu::scaling
