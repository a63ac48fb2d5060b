// A node's topology by hwloc: of this machine, or of an XML that hwloc's lstopo wrote.
// The one part of the library that needs hwloc (2.2 to 3.0), so it is a library of its
// own: neither srun nor slurmstepd loads it.
#pragma once

#include "base/result.h"
#include "mapping/topology/topology.h"
#include "node/machine.h"

#include <string>

namespace distgpu {

// The whole machine, whatever this process may use of it (the tasks' CPU masks say that later).
// Errors: hwloc cannot read the machine.
Result<NodeTopology> discover(const MachineRoots& roots = {});

// Errors: no such file, not an XML that this hwloc reads (before 2.10: not 3.x's). hwloc 2.9 dies
// of some XML that no lstopo wrote: not to be called in a daemon.
Result<NodeTopology> load_xml(const std::string& path);

// The same of an XML or of a distgpu.topo/1 text, whichever the file holds.
Result<NodeTopology> load_topology(const std::string& path);

}  // namespace distgpu
