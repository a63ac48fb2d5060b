// What stands behind bash -c, and what a command ends with.
#pragma once

#include "slurm/shell_words.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct ShellText {
    char quote = '\0';                   // around it
    std::vector<ShellCommand> commands;  // by their places in the whole script
    std::size_t main = 0;                // that of them which is no preparation
};

// Whether `words[begin]` is a shell with -c, alone or with other letters (-lc), and a text.
bool starts_shell(const std::vector<std::string>& words, std::size_t begin);

// Its text. Nothing: it is not in quotes, or starts more than one program.
std::optional<ShellText> read_shell_text(std::string_view script, const ShellCommand& command,
                                         std::size_t begin);

// The first word from `begin` on with which redirections begin that end the command; the number of
// words: none. Nothing: arguments follow them.
std::optional<std::size_t> redirections_at(std::string_view script, const ShellCommand& command,
                                           std::size_t begin);

// Whether bash -c "TEXT" does what the text does; not if it has quotes that " would end or
// change, or a bracket of what is around it.
bool means_the_same_in_quotes(std::string_view text);

// Whether a single & follows.
bool runs_in_background(std::string_view script, const ShellCommand& command);

// Whether && or a bar behind the command joins it with the next.
bool joins_next(std::string_view script, const ShellCommand& command);

}  // namespace distgpu
