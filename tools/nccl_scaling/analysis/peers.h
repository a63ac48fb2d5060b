// Which of several peers is slower than the others: rails, nodes on their own.
#pragma once

#include "analysis/evidence.h"

#include <cstdint>
#include <vector>

namespace distgpu::scaling {

// A rail, or a node on its own.
struct SlowPeer {
    std::uint32_t number = 0;
    double relative = 0;    // to what the others could do
    double deviations = 0;  // see Finding
};

// What is slow by a fault is slower than by the usual differences between healthy peers: by more
// than this, from their scores, which are about 1.
double unusual_effect(const std::vector<double>& scores);

// `noise`: of one measurement.
std::vector<SlowPeer> slow_rails(const std::vector<Evidence::Rail>& rails, double noise);
std::vector<SlowPeer> slow_alone(const std::vector<Evidence::Alone>& alone, double noise);
// The rails of one node that are slower than its others, each next to that rail between nodes that
// it did not meet, where there are any.
std::vector<SlowPeer> slow_ports(const std::vector<Evidence::PairRail>& pair_rails,
                                 std::uint32_t node, double noise);

}  // namespace distgpu::scaling
