// `distgpu exec`: runs a program as a task that the plugin prepared would run, without the plugin.
#pragma once

#include "command_line.h"

namespace distgpu {

Subcommand exec_subcommand();

}  // namespace distgpu
