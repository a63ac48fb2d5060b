// What a command of a script starts: by itself, behind srun, or within srun bash -c.
#pragma once

#include "base/result.h"
#include "convert/shell_text.h"
#include "slurm/shell_words.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

struct StartedCommand {
    const ShellCommand* outer = nullptr;  // as it stands in the script
    std::optional<ShellText> text;        // behind bash -c
    std::size_t step = 0;                 // where the program of srun, or else any, is in `outer`
    std::size_t program = 0;              // where the one that is meant is in command()
    bool has_srun = false;
    bool asks_for_cpus = false;  // srun's options
    bool asks_for_nodes = false;
    bool names_nodes = false;

    const ShellCommand& command() const { return text ? text->commands[text->main] : *outer; }
    const std::string& word(std::size_t at) const { return command().words[at]; }
};

// Nothing: no program, more than one, or one with --distgpu. `command` has to outlive it.
// Errors: an option of srun that lacks its value, or an unknown one that may have the next word for
// its value.
Result<std::optional<StartedCommand>> read_started(std::string_view script,
                                                   const ShellCommand& command);

}  // namespace distgpu
