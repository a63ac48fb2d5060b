// A node's topology by hwloc: of this machine, or of an XML that hwloc's lstopo wrote.
// The one part of the library that needs hwloc (2.2 to 3.0), so it is a library of its
// own: neither srun nor slurmstepd loads it.
#pragma once

#include "base/result.h"
#include "mapping/topology/topology.h"
#include "node/machine.h"

namespace distgpu {

// The whole machine, whatever this process may use of it (the tasks' CPU masks say that later).
// Errors: hwloc cannot read the machine.
Result<NodeTopology> discover(const MachineRoots& roots = {});

// From hwloc's XML or a distgpu.topo/1 text, whichever the file holds.
// Errors: no such file, not an XML that this hwloc reads (before 2.10: not 3.x's). hwloc 2.9 dies
// of some XML that no lstopo wrote: not to be called in a daemon.
Result<NodeTopology> load_topology(const std::string& path);

// Removes hwloc's own variables, which must not decide what distgpu sees: with HWLOC_XMLFILE or
// HWLOC_COMPONENTS left in somebody's shell, `distgpu topo --save` would keep another machine's
// topology, or one without GPUs, for all jobs. To be called before hwloc is.
void take_hwloc_environment();

}  // namespace distgpu
