// What `distgpu convert` makes of a file.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// What could not be known, or was left as it is.
struct Note {
    std::size_t line = 0;  // in the file; 0: of the whole
    std::string text;

    bool operator==(const Note&) const = default;
};

struct Conversion {
    std::string script;       // the new batch script; empty: nothing in the file is understood
    std::vector<Note> notes;  // by line
    std::string diff;         // from the file, if that is a batch script
};

// A batch script, or by the ending of its name an Azure ML job: .yml and .yaml (v2), .py (v1, v2).
// Errors (object: `file`): no job of Azure ML, or one whose distribution has no mode; a batch
// script with line ends that sbatch refuses.
Result<Conversion> convert_file(const std::string& file, std::string_view text);

}  // namespace distgpu
