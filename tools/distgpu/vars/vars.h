// `distgpu vars`: which variables the tasks of each mode get, and which must go.
#pragma once

#include "command_line.h"

namespace distgpu {

Subcommand vars_subcommand();

}  // namespace distgpu
