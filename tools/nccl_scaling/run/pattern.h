// Data by which a wrong result is recognised: small integers that differ between ranks and between
// elements, and whose sum over all ranks every type holds exactly, in whatever order it is made.
#pragma once

#include "results.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distgpu::scaling {

class Pattern {
  public:
    // For `ranks` ranks whose values are summed, of at most `elements` elements; 1: the values
    // are only copied. A type that holds fewer than 2 * ranks integers leaves no room for a value
    // from every rank; then some ranks, others in each element, have a zero.
    Pattern(DataType type, std::uint32_t ranks, std::size_t elements);

    // Of a rank's element. Values repeat after `period` elements, a prime, so that no power of
    // two shifts one onto its like.
    std::uint32_t value(std::uint32_t rank, std::size_t element) const;

    // Over all ranks: at least 1.
    std::uint32_t sum(std::size_t element) const { return sums_[element % period]; }

    static constexpr std::size_t period = 4093;

  private:
    std::uint32_t ranks_;
    std::uint32_t speakers_;  // ranks with a value in an element
    std::uint32_t largest_;
    std::vector<std::uint32_t> sums_;
};

}  // namespace distgpu::scaling
