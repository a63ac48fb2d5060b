// Which elements of each rank go to which other: of the collectives that copy and do not compute.
#pragma once

#include "results/results.h"

#include <cstddef>
#include <cstdint>

namespace distgpu::scaling {

// What one rank gets of another, or of itself.
struct Flow {
    std::size_t sent_at = 0;      // an element of the sender's buffer
    std::size_t received_at = 0;  // of the receiver's
    std::size_t count = 0;        // 0: it gets nothing

    bool operator==(const Flow&) const = default;
};

// `count`: Call::count. Of a reduction: nothing.
Flow flow_of(Collective collective, std::uint32_t from, std::uint32_t to, std::uint32_t ranks,
             std::size_t count);

// all-to-all-v: how many quarters of the room that each rank has in another's buffer are used. Made
// up, as no two models route their tokens alike; every rank sends as much as every other.
constexpr std::uint32_t quarters_of_room(std::uint32_t from, std::uint32_t to,
                                         std::uint32_t ranks) {
    return 1 + (to + ranks - from) % ranks % 4;
}

}  // namespace distgpu::scaling
