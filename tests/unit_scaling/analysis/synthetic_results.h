// Builds synthetic results group by group and measurement by measurement.
#pragma once

#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace distgpu::scaling {

// Nodes "n0", "n1", ... with `ranks_each` ranks each.
inline Results synthetic_results(std::uint32_t nodes, std::uint32_t ranks_each) {
    Results results;
    for (std::uint32_t node = 0; node < nodes; ++node) {
        results.nodes.push_back(
            {.name = "n" + std::to_string(node), .ranks = ranks_each, .gpus = {}, .rails = {}});
    }
    return results;
}

// Returns the group's index.
inline std::size_t add_group(Results& results, Group group) {
    results.groups.push_back(std::move(group));
    return results.groups.size() - 1;
}

// All ranks of the first `count` nodes.
inline std::size_t add_nodes(Results& results, std::uint32_t count) {
    std::vector<std::uint32_t> nodes(count);
    std::iota(nodes.begin(), nodes.end(), 0U);
    const auto ranks = count * results.nodes.front().ranks;
    return add_group(
        results,
        {.kind = Group::Kind::nodes, .nodes = std::move(nodes), .ranks = ranks, .number = count});
}

struct Timed {
    Collective collective = Collective::all_reduce;
    DataType type = DataType::f32;
    bool in_place = false;
    std::uint64_t bytes = 0;
    double seconds = 0;  // median
};

inline void add_measurement(Results& results, std::size_t group, const Timed& timed) {
    Statistics time;
    time.median = timed.seconds;
    results.measurements.push_back(
        {group, {timed.collective, timed.type, timed.in_place, timed.bytes}, time});
}

}  // namespace distgpu::scaling
