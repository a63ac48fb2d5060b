// plugstack.conf as Slurm reads it (_spank_stack_load() of plugstack.c, 22.05 to 26.05): one line
// after the other, those of an included file where it is included.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

struct ConfigLine {
    std::string file;
    std::size_t number = 0;  // from 1
    // Why Slurm takes nothing from it; then the rest is empty.
    std::optional<Error> ignored{};
    bool required = false;                 // or optional
    std::string plugin{};                  // as written: a path, or a name in PluginDir
    std::vector<std::string> arguments{};  // of the plugin

    bool operator==(const ConfigLine&) const = default;
};

// Lines without a word are left out. Errors: the file cannot be read.
Result<std::vector<ConfigLine>> read_plugstack(const std::string& path);

}  // namespace distgpu
