// Changes to a script at places in it, and the lines that they come to.
#pragma once

#include "slurm/shell_words.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct TextEdit {
    TextSpan span;            // what goes; empty: something comes before its place
    std::string replacement;  // what comes
};

// Lines that others take the place of.
struct LineChange {
    std::size_t first = 0;  // from 0
    std::size_t count = 0;
    std::vector<std::string> lines;

    bool operator==(const LineChange&) const = default;
};

std::vector<std::string> lines_of(std::string_view text);

// What the edits, which do not overlap, come to; by line. A word that goes takes the blanks before
// it along, and a line of which only blanks and a backslash are left goes too.
std::vector<LineChange> line_changes(std::string_view text, std::vector<TextEdit> edits);

// The text with the changes; a last line that changes ends with a newline.
std::string changed(std::string_view text, const std::vector<LineChange>& changes);

// The changes as diff -u shows them; empty: there are none.
std::string unified_diff(const std::string& name, std::string_view text,
                         const std::vector<LineChange>& changes);

}  // namespace distgpu
