// `distgpu plan`: what the tasks of a step would get.
#pragma once

#include "command_line.h"

namespace distgpu {

Subcommand plan_subcommand();

}  // namespace distgpu
