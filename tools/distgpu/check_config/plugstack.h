// Reads plugstack.conf, and what `distgpu check-config` needs of the files that it names.
#pragma once

#include "base/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// A line of plugstack.conf as Slurm reads it.
struct ConfigLine {
    std::string file;
    std::size_t number = 0;  // from 1
    // Why Slurm ignores the line; the fields below are then empty.
    std::optional<Error> ignored{};
    bool required = false;                 // otherwise optional
    std::string plugin{};                  // as written: a path, or a name in PluginDir
    std::vector<std::string> arguments{};  // of the plugin
};

// Skips empty lines and comments. Errors: the file cannot be read.
Result<std::vector<ConfigLine>> read_plugstack(const std::string& path);

// Whether the port is in a list such as "4000-4100,5000".
bool has_port(std::string_view list, std::uint32_t port);

// The release for which a plugin was built, "22.05"; no other release of Slurm loads it (plugin.c,
// from 21.08 on). Empty if it has no plugin_version, which Slurm accepts. The file is read but not
// loaded: loading would run its code, perhaps as root, and a plugin that is linked with -z now
// needs Slurm's symbols to load. Errors: not a shared library for this architecture; not a plugin
// (without a remedy).
Result<std::string> plugin_release(const std::string& path);

// Whether it is a program or library for this architecture that cannot be the distgpu command,
// because it lacks the text by which every release marks a topology. It is not run. False for a
// script.
bool is_another_program(const std::string& path);

}  // namespace distgpu
