// A table for people whose last column is prose.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace distgpu {

using Row = std::vector<std::string>;

// A line for each row: cells two spaces apart in columns as wide as their widest cell, after
// `indent` spaces. The last cell is broken at spaces so that no line is longer than `width`, but
// for a single word that is, and goes on below its own beginning. All rows have as many cells.
std::string wrapped_table(const std::vector<Row>& rows, std::size_t indent, std::size_t width);

}  // namespace distgpu
