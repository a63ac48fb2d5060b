// `distgpu check`: whether the tasks of this step would find each other, their GPUs and the
// network.
#pragma once

#include "command_line.h"

namespace distgpu {

Subcommand check_subcommand();

}  // namespace distgpu
