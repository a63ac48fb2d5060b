// The bandwidths of the node pairs as a square matrix of bounded size.
#pragma once

#include "results.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling::html {

struct PairMatrix {
    std::size_t size = 0;                      // rows, and columns; 0: no pairs were measured
    std::size_t nodes_per_row = 1;             // consecutive nodes; more than 1 on a large cluster
    std::vector<std::string> names;            // of each row: "node01" or "node01 .. node08"
    std::vector<std::optional<double>> cells;  // bytes per second; symmetric; nothing: no pair
    std::uint64_t bytes = 0;                   // the size that was measured

    const std::optional<double>& at(std::size_t row, std::size_t column) const {
        return cells[row * size + column];
    }
};

// A pair's value is the median of its matches (analysis/evidence.h); a cell of several pairs has
// the lowest, so that a slow node stays visible. At most 64 rows.
PairMatrix pair_matrix(const Results& results);

}  // namespace distgpu::scaling::html
