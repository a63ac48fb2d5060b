// See pair_matrix.h.
#include "report/html/pair_matrix.h"

#include "analysis/statistics.h"
#include "base/format.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace distgpu::scaling::html {
namespace {

constexpr std::size_t most_rows = 64;

std::map<Pair, double> pair_values(const Evidence& evidence) {
    std::map<Pair, std::vector<double>> measured;
    for (const auto& match : evidence.matches) {
        measured[match.pair].push_back(match.bandwidth);
    }
    std::map<Pair, double> values;
    for (auto& [pair, all] : measured) values[pair] = median(std::move(all));
    return values;
}

std::vector<std::string> row_names(const std::vector<Node>& nodes, std::size_t nodes_per_row) {
    std::vector<std::string> names;
    names.reserve(most_rows);
    for (std::size_t first = 0; first < nodes.size(); first += nodes_per_row) {
        const std::size_t last = std::min(first + nodes_per_row, nodes.size()) - 1;
        names.push_back(first == last ? nodes[first].name
                                      : formatted("{} .. {}", nodes[first].name, nodes[last].name));
    }
    return names;
}

void lower(std::optional<double>& cell, double value) {
    cell = std::min(cell.value_or(value), value);
}

}  // namespace

PairMatrix pair_matrix(const std::vector<Node>& nodes, const Evidence& evidence) {
    PairMatrix matrix;
    const auto values = pair_values(evidence);
    if (values.empty()) return matrix;
    matrix.bytes = evidence.match_bytes;
    matrix.nodes_per_row = (nodes.size() + most_rows - 1) / most_rows;
    matrix.names = row_names(nodes, matrix.nodes_per_row);
    matrix.size = matrix.names.size();
    matrix.cells.resize(matrix.size * matrix.size);
    for (const auto& [pair, value] : values) {
        const std::size_t row = pair.first / matrix.nodes_per_row;
        const std::size_t column = pair.second / matrix.nodes_per_row;
        lower(matrix.cells[row * matrix.size + column], value);
        lower(matrix.cells[column * matrix.size + row], value);
    }
    return matrix;
}

}  // namespace distgpu::scaling::html
