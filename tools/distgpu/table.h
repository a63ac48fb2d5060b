// Texts for people: tables, of cells that others may have written, and ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace distgpu {

using Row = std::vector<std::string>;

struct TableForm {
    std::size_t indent = 0;                                       // spaces before each line
    std::size_t width = std::numeric_limits<std::size_t>::max();  // of the longest line
    bool bold_heading = false;                                    // the first row, on a terminal
};

// A line for each row: columns as wide as their widest cell, two spaces apart. A row's last cell is
// broken at spaces so that no line is longer than `width`, but for a single word that is, and goes
// on below its own beginning. Control characters become '?', so that no cell steers the terminal.
// Rows may differ in length, but none is empty.
std::string table(std::vector<Row> rows, const TableForm& form = {});

// "rank 3", "ranks 0-3,5".
std::string ranks_text(const std::vector<std::uint32_t>& ranks);

// "ranks 4-7 on node02, node03"; on more than four nodes, or none, the ranks alone.
std::string ranks_on(const std::vector<std::uint32_t>& ranks,
                     const std::vector<std::string>& nodes);

// "node02,node03" in a table; "12 nodes" of more than four.
std::string nodes_cell(const std::vector<std::string>& nodes);

}  // namespace distgpu
