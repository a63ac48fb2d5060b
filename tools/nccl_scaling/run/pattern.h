// Data by which a wrong result is recognised: small integers that differ between ranks and between
// elements, and whose sum, or whatever a reduction makes of them, the type holds exactly in
// whatever order it is made.
#pragma once

#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distgpu::scaling {

class Pattern {
  public:
    // For `ranks` ranks whose values are reduced, of at most `elements` elements; 1: the values are
    // only copied. Not every rank has a say in an element: a product has room for one value, and so
    // has a sum for a few where the type holds fewer than 2 * ranks integers. The others, which are
    // others in each element, have what changes nothing. Of avg: is_exact().
    Pattern(DataType type, Op op, std::uint32_t ranks, std::size_t elements);

    // Whether the average is exact: NCCL multiplies each value with 1 / ranks, which is exact for
    // powers of two, so that values are multiples of the ranks, and two of them must fit.
    static bool is_exact(DataType type, Op op, std::uint32_t ranks);

    // Of a rank's element. Values repeat after `period` elements, a prime, so that no power of
    // two shifts one onto its like.
    std::uint32_t value(std::uint32_t rank, std::size_t element) const;

    // Over all ranks: at least 1.
    std::uint32_t result(std::size_t element) const { return results_[element % period]; }

    static constexpr std::size_t period = 4093;

  private:
    std::uint32_t ranks_;
    std::uint32_t unit_;      // values are multiples of this
    std::uint32_t speakers_;  // ranks with a say in an element
    std::uint32_t largest_;   // in units
    std::uint32_t silence_;   // the value of the others
    std::vector<std::uint32_t> results_;
};

}  // namespace distgpu::scaling
