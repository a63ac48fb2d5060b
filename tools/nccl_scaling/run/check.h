// Whether a collective's result is right: what each rank sends, and what it must receive.
#pragma once

#include "backend/repeated.h"
#include "run/operation.h"
#include "run/pattern.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distgpu::scaling {

// So many bytes that hold the table again and again, from its byte `first` on.
struct KnownData {
    std::vector<std::byte> table;
    std::size_t first = 0;
    std::size_t bytes = 0;
    std::size_t at = 0;  // element of the buffer at which they begin

    Repeated content() const { return {table, first}; }
};

// One rank's view of one operation with known data.
class Check {
  public:
    // Averages of some numbers of ranks are not exact, and cannot be checked.
    static bool is_possible(const Subject& operation, std::uint32_t ranks);

    // Precondition: it is possible.
    Check(const Subject& operation, Seat seat);

    // What the rank sends.
    KnownData sent() const;

    // What it must receive, in so many parts, which may be empty: a reduction's result, or what
    // comes from each rank. None: nothing is defined about it (reduce, but on its root).
    std::uint32_t parts() const;
    KnownData received(std::uint32_t part) const;

  private:
    KnownData values(std::uint32_t rank, std::size_t first, std::size_t count) const;
    KnownData results(std::size_t first, std::size_t count) const;

    Subject operation_;
    Seat seat_;
    Extent extent_;
    Pattern pattern_;
};

}  // namespace distgpu::scaling
