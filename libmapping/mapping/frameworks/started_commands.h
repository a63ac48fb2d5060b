// Finds the commands that a command line finally starts: after wrappers such as `timeout 1h` and
// `conda run -n x`, in the text of a shell, and on other nodes with ssh.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace distgpu {

struct UnwrappedCommand {
    std::vector<std::string> words;
    // It always runs. False: it follows ||, | or a test, or is in a branch.
    bool is_unconditional = true;
};

// The command after all known wrappers, such as `timeout 1h env A=1`; the line itself if it has
// none. A command that only Python can run begins with "python", as for `uv run train.py`. Empty if
// the line does not show the command.
std::vector<std::string> strip_wrappers(std::span<const std::string> line);

// The same, also in the text of `bash -c`, in order. Words keep $NAME and $(...) unexpanded. If a
// text does not show what runs, as with `if` and `for`, the shell is the command.
std::vector<UnwrappedCommand> started_commands(std::span<const std::string> line);

struct RemoteCommands {
    std::vector<UnwrappedCommand> commands;  // empty for a login
    bool sends_variables = false;  // an option passes variables of the step on: SendEnv, SetEnv
};

// The commands that the line runs on another node; nullopt if it does not start a remote shell.
std::optional<RemoteCommands> remote_commands(std::span<const std::string> line);

}  // namespace distgpu
