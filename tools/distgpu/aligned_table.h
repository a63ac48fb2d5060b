// A table for people, of cells that others may have written.
#pragma once

#include <string>
#include <vector>

namespace distgpu {

// A line for each row: columns as wide as their widest cell, two spaces apart. Control characters
// become '?', so that no cell steers the terminal. Rows may differ in length.
std::string aligned_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace distgpu
