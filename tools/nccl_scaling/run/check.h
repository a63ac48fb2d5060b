// Whether a collective's result is right: what each rank sends, and what it must receive.
#pragma once

#include "run/operation.h"
#include "run/pattern.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace distgpu::scaling {

// One rank's view of one operation with known data.
class Check {
  public:
    Check(const Subject& operation, Seat seat);

    // Writes extent.send elements.
    void fill(std::span<std::byte> sent) const;

    // The first of extent.receive elements that is wrong, in words. Nothing: all are right, or
    // nothing is defined about them (reduce, but on its root).
    std::optional<std::string> first_wrong(std::span<const std::byte> received) const;

  private:
    std::uint32_t expected(std::size_t element) const;

    Subject operation_;
    Seat seat_;
    Extent extent_;
    Pattern pattern_;
};

}  // namespace distgpu::scaling
