// The commands that ssh and programs like it run on other nodes, outside the step around them.
#pragma once

#include "mapping/frameworks/started_commands.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace distgpu {

struct RemoteCommands {
    std::vector<UnwrappedCommand> commands;  // empty: none does, as with a login
    bool sends_variables = false;  // an option hands on variables of the step: SendEnv, SetEnv
};

// What the line runs elsewhere. Nothing: it is no remote shell.
std::optional<RemoteCommands> remote_commands(std::span<const std::string> line);

}  // namespace distgpu
