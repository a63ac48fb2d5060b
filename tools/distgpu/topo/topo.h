// `distgpu topo`: a node's GPUs and HCAs, and how near they are to each other.
#pragma once

#include "command_line.h"

namespace distgpu {

Subcommand topo_subcommand();

}  // namespace distgpu
