// A topology for people, in the form that they know from `nvidia-smi topo -m`.
#pragma once

#include "mapping/topology/topology.h"

#include <string>

namespace distgpu {

// `colour`: for a terminal.
std::string topo_table(const NodeTopology& topology, bool colour);

}  // namespace distgpu
