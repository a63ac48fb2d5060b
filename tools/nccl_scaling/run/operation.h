// Where the data of an operation lies in the buffers.
#pragma once

#include "analysis/subject.h"
#include "backend/backend.h"
#include "results/results.h"

#include <cstddef>
#include <cstdint>

namespace distgpu::scaling {

// Elements. Where the size is no multiple of the ranks, the rest that is less than one element for
// each rank is left out.
struct Extent {
    std::size_t count = 0;  // Call::count; 0: the size has no element for each rank, or the
                            // collective needs an even number of them
    std::size_t send = 0;
    std::size_t receive = 0;

    bool operator==(const Extent&) const = default;
};

Extent extent_of(const Subject& operation, std::uint32_t ranks);

// Of two buffers that have room for operation.bytes each.
Call call_of(const Subject& operation, Seat seat, std::byte* send, std::byte* receive);

}  // namespace distgpu::scaling
