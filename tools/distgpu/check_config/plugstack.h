// What `distgpu check-config` reads of plugstack.conf and of the files that it names.
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
    // Why Slurm takes nothing from it; then the rest is empty.
    std::optional<Error> ignored{};
    bool required = false;                 // or optional
    std::string plugin{};                  // as written: a path, or a name in PluginDir
    std::vector<std::string> arguments{};  // of the plugin
};

// Lines without a word are left out. Errors: the file cannot be read.
Result<std::vector<ConfigLine>> read_plugstack(const std::string& path);

// Whether the port is in a list such as "4000-4100,5000".
bool has_port(std::string_view list, std::uint32_t port);

// The release for which a plugin was built, "22.05"; Slurm loads it in no other (plugin.c,
// from 21.08 on). Empty: it does not say so, which Slurm accepts. The file is read and not loaded:
// loading runs its code, as root if root asks, and a plugin that is linked with -z now loads only
// where Slurm's symbols are. Errors: not a library of this kind of machine; no plugin (without a
// remedy).
Result<std::string> plugin_release(const std::string& path);

// Whether it is a program for this kind of machine, or a library, that cannot be the command
// distgpu, because it lacks the word by which every release marks a topology. It is not run.
// False for a script.
bool is_another_program(const std::string& path);

}  // namespace distgpu
