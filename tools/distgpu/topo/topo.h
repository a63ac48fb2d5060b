// A topology as text, in the format of `nvidia-smi topo -m`.
#pragma once

#include "mapping/topology/topology.h"

#include <string>

namespace distgpu {

// `colour`: for a terminal.
std::string topo_table(const NodeTopology& topology, bool colour);

}  // namespace distgpu
