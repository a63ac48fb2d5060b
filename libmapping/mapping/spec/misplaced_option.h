// Common mistakes with --distgpu: names that other launchers use for modes and keys ("did you
// mean"), a --distgpu that got the program as its value, and one that Slurm does not read.
#pragma once

#include "base/result.h"

#include <optional>
#include <span>
#include <string_view>

namespace distgpu {

// These names are only suggested, not accepted: a mode has one name, in scripts and in questions.

// The mode for another name of it, such as "pytorch" for "DDP"; nullopt if the name is unknown.
std::optional<std::string_view> suggested_mode(std::string_view word);

// The same for a key: "port" for "master_port".
std::optional<std::string_view> suggested_key(std::string_view word);

// In lower case and with '-' for '_', as in all words of the grammar.
std::string normalized_word(std::string_view word);

// Why the value of --distgpu is not a mode: it is the next word of the command line, as in
// `srun --distgpu python3 train.py`. nullopt if it may be a misspelt mode.
std::optional<std::string_view> why_not_a_mode(std::string_view word);

// Reports --distgpu=SPEC among the arguments of the program, where srun does not read it. nullopt
// if there is none, or only one that would have no effect.
std::optional<Error> option_after_program(std::span<const std::string> program);

// Reports `#SBATCH --distgpu=SPEC` after the first command of a script, where sbatch does not read
// it. The object is "line 4: --distgpu=SPEC".
std::optional<Error> directive_after_command(std::string_view script);

}  // namespace distgpu
