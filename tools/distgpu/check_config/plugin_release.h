// The release of Slurm for which a plugin was built. Slurm loads it in no other (plugin.c, from
// 21.08 on).
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace distgpu {

// 22.05
struct SlurmRelease {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;

    bool operator==(const SlurmRelease&) const = default;
};

std::string text_of(SlurmRelease release);

// What its symbol plugin_version says; nothing: it has none, which Slurm accepts. The file is read
// and not loaded: loading runs its code, as root where root asks, and a plugin that is linked with
// -z now loads only where Slurm's symbols are.
// Errors: not a library of this kind of machine.
Result<std::optional<SlurmRelease>> release_of_plugin(const std::string& path);

// Whether it exports plugin_name and plugin_type, without which Slurm loads nothing.
bool is_plugin(const std::string& path);

// Whether it is a program for this kind of machine, or a library, that cannot be the command
// distgpu, because the word by which every release marks a topology is not in it. It is not run:
// nobody knows what it does. Nothing is said of a script.
bool is_another_program(const std::string& path);

}  // namespace distgpu
