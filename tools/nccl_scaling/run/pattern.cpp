// See pattern.h.
#include "run/pattern.h"

#include "backend/number.h"

#include <algorithm>

namespace distgpu::scaling {
namespace {

// Neighbours become unlike.
std::uint64_t mix(std::uint64_t key) {
    constexpr std::uint64_t golden_section = 0x9E3779B97F4A7C15U;  // of 2^64
    key = (key + 1) * golden_section;
    key = (key ^ (key >> 29U)) * golden_section;
    return key ^ (key >> 32U);
}

}  // namespace

Pattern::Pattern(DataType type, std::uint32_t ranks, std::size_t elements)
    : ranks_(ranks),
      speakers_(std::min(ranks, exact_integers(type) / 2)),
      largest_(exact_integers(type) / speakers_),
      sums_(std::min(elements, period)) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        for (std::size_t element = 0; element < sums_.size(); ++element) {
            sums_[element] += value(rank, element);
        }
    }
}

std::uint32_t Pattern::value(std::uint32_t rank, std::size_t element) const {
    const std::uint64_t place = element % period;
    if ((rank + place) % ranks_ >= speakers_) return 0;
    return 1 + static_cast<std::uint32_t>(mix(rank * period + place) % largest_);
}

}  // namespace distgpu::scaling
