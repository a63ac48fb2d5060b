#include "run/pattern.h"

#include "backend/number.h"

#include <algorithm>
#include <bit>

namespace distgpu::scaling {
namespace {

// Neighbours become unlike.
std::uint64_t mix(std::uint64_t key) {
    constexpr std::uint64_t golden_section = 0x9E3779B97F4A7C15U;  // of 2^64
    key = (key + 1) * golden_section;
    key = (key ^ (key >> 29U)) * golden_section;
    return key ^ (key >> 32U);
}

bool is_additive(Op op) {
    return op == Op::sum || op == Op::avg;
}

std::uint32_t silence_of(DataType type, Op op) {
    if (op == Op::prod) return 1;
    return op == Op::min ? exact_integers(type) : 0;
}

std::uint32_t combined(Op op, std::uint32_t a, std::uint32_t b) {
    switch (op) {
        case Op::sum:
        case Op::avg:
            return a + b;
        case Op::prod:
            return a * b;
        case Op::max:
            return std::max(a, b);
        case Op::min:
            break;
    }
    return std::min(a, b);
}

}  // namespace

bool Pattern::is_exact(DataType type, Op op, std::uint32_t ranks) {
    return op != Op::avg || (std::has_single_bit(ranks) && exact_integers(type) / ranks >= 2);
}

Pattern::Pattern(DataType type, Op op, std::uint32_t ranks, std::size_t elements)
    : ranks_(ranks),
      unit_(op == Op::avg ? ranks : 1),
      speakers_(is_additive(op) ? std::min(ranks, exact_integers(type) / unit_ / 2) : 1),
      largest_(exact_integers(type) / unit_ / speakers_),
      silence_(silence_of(type, op)),
      results_(std::min(elements, period)) {
    for (std::size_t element = 0; element < results_.size(); ++element) {
        std::uint32_t result = value(0, element);
        for (std::uint32_t rank = 1; rank < ranks; ++rank) {
            result = combined(op, result, value(rank, element));
        }
        results_[element] = result / unit_;
    }
}

std::uint32_t Pattern::value(std::uint32_t rank, std::size_t element) const {
    const std::uint64_t place = element % period;
    if ((rank + place) % ranks_ >= speakers_) return silence_;
    return unit_ * (1 + static_cast<std::uint32_t>(mix(rank * period + place) % largest_));
}

}  // namespace distgpu::scaling
