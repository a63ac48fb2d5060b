// Tables and lists of ranks as text. Cells may come from untrusted sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace distgpu {

using Row = std::vector<std::string>;

struct TableFormat {
    std::size_t indent = 0;                                       // spaces before each line
    std::size_t width = std::numeric_limits<std::size_t>::max();  // of the longest line
    bool bold_heading = false;                                    // for a terminal
};

// A line for each row: columns as wide as their widest cell, two spaces apart. A row's last cell is
// wrapped at spaces if the line would be longer than `width`, and continues below its own
// beginning; a single word is never broken. Control characters become '?', so that no cell can send
// escape sequences to the terminal. Rows may differ in length, but each has a cell.
std::string table(std::vector<Row> rows, const TableFormat& format = {});

// "rank 3", "ranks 0-3,5".
std::string ranks_text(const std::vector<std::uint32_t>& ranks);

// "ranks 4-7 on node02, node03"; without node names if there are more than four nodes, or no node.
std::string ranks_on_nodes(const std::vector<std::uint32_t>& ranks,
                           const std::vector<std::string>& nodes);

// A table's cell: "node02,node03"; "12 nodes" for more than four.
std::string nodes_cell(const std::vector<std::string>& nodes);

}  // namespace distgpu
