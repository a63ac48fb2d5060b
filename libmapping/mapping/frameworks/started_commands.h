// The commands that a command line comes to: behind programs that start another one, such as
// `timeout 1h` and `conda run -n x`, in the text of a shell, and on other nodes behind ssh.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace distgpu {

struct UnwrappedCommand {
    std::vector<std::string> words;
    // It runs in any case. False: behind ||, | or a test, or in another branch.
    bool certain = true;
};

// The command behind all programs of a known kind that start it: what is behind `timeout 1h env
// A=1`. Those of Python alone begin with "python", as in `uv run train.py`. The line itself where
// it is none of them; nothing where it does not show.
std::vector<std::string> behind_wrappers(std::span<const std::string> line);

// The same, and in the text of `bash -c`, in its order. Words keep $NAME and $(...), as they are in
// the text. Where a text does not show what runs, as with `if` and `for`, the shell is the command.
std::vector<UnwrappedCommand> started_commands(std::span<const std::string> line);

struct RemoteCommands {
    std::vector<UnwrappedCommand> commands;  // empty: none does, as with a login
    bool sends_variables = false;  // an option hands on variables of the step: SendEnv, SetEnv
};

// What the line runs elsewhere. Nothing: it is no remote shell.
std::optional<RemoteCommands> remote_commands(std::span<const std::string> line);

}  // namespace distgpu
