// What can hold a run back.
#pragma once

#include <cstdint>
#include <optional>

namespace distgpu::scaling {

struct Limiter {
    enum class Kind : std::uint8_t {
        node,
        node_rail,  // one rail of one node
        rail,       // a rail of all nodes; with two nodes it may be of one of them
        leaf,       // a switch: all that its nodes send
        uplink,     // of a switch: what leaves it
        spine,      // what goes from one switch to another
        paths,      // some pairs or matches, without a pattern: routes that collide
    };
    Kind kind = Kind::node;
    std::uint32_t node = 0;        // index into Results::nodes; of leaf and uplink: one node there
    std::uint32_t local_rank = 0;  // of node_rail and rail
    bool intermittent = false;     // in a share of the measurements only

    bool operator==(const Limiter&) const = default;
};

// One node alone.
inline bool is_of_a_node(const Limiter& limiter) {
    return limiter.kind == Limiter::Kind::node || limiter.kind == Limiter::Kind::node_rail;
}

}  // namespace distgpu::scaling
