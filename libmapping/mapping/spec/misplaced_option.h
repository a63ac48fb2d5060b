// Words that are taken for ours, for "did you mean": what users of other launchers write for modes
// and keys, and --distgpu where it takes another word for its value or where Slurm does not look
// for it.
#pragma once

#include "base/result.h"

#include <optional>
#include <span>
#include <string_view>

namespace distgpu {

// None of these words is accepted: a mode has one name in scripts and in questions about them.

// The mode that another word means, such as "pytorch" for "DDP". Nothing: none that is known.
std::optional<std::string_view> mode_meant_by(std::string_view word);

// The same for a key: "port" for "master_port".
std::optional<std::string_view> key_meant_by(std::string_view word);

// In small letters and with '-' for '_', as all words of the grammar are.
std::string in_our_letters(std::string_view word);

// Why the value of an option is no mode although it is one word: it is the next word of the line,
// as in `srun --distgpu python3 train.py`. Nothing: it may be a mode that is misspelt.
std::optional<std::string_view> taken_for_mode(std::string_view word);

// --distgpu=SPEC among the words of a program, where srun does not read it. Nothing: there is none
// that would do anything.
std::optional<Error> option_behind_program(std::span<const std::string> program);

// The same of `#SBATCH --distgpu=SPEC` below the first command of a script, where sbatch does not
// read it. The object is "line 4".
std::optional<Error> late_directive(std::string_view script);

}  // namespace distgpu
