// The bandwidths of the node pairs as a square matrix of bounded size, and that as a picture.
#pragma once

#include "analysis/evidence.h"
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

// A pair's value is the median of its matches; a cell of several pairs has the lowest, so that a
// slow node stays visible. At most 64 rows.
PairMatrix pair_matrix(const std::vector<Node>& nodes, const Evidence& evidence);

// `<figure><svg>...</svg></figure>`, with one element of class "cell" for each cell that has a
// value. The picture has one size whatever the number of rows; the numbers stand in the cells as
// long as they fit, else where the pointer rests. Precondition: matrix.size is not 0.
std::string to_svg(const PairMatrix& matrix);

}  // namespace distgpu::scaling::html
