// --distgpu where it takes another word for its value, or where Slurm does not look for it.
#pragma once

#include "base/result.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distgpu {

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
