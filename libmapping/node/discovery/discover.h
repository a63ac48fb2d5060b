// A node's topology by hwloc: of this machine, or from an XML that hwloc's lstopo wrote. The only
// part that needs hwloc (2.2 to 3.0), and therefore a separate library, which neither srun nor
// slurmstepd loads.
#pragma once

#include "base/result.h"
#include "mapping/topology/topology.h"
#include "node/machine.h"

namespace distgpu {

// The whole machine, even if this process may use only a part; the tasks' CPU masks limit it later.
// Errors: hwloc cannot read the machine.
Result<NodeTopology> discover(const MachineRoots& roots = {});

// From a file with hwloc's XML or a distgpu.topo/1 text.
// Errors: no such file; not an XML that this hwloc reads (before 2.10: none of 3.x). Not for a
// daemon: hwloc 2.9 crashes on some XML that lstopo did not write.
Result<NodeTopology> load_topology(const std::string& path);

// Removes hwloc's own variables, which must not affect what distgpu sees: with HWLOC_XMLFILE or
// HWLOC_COMPONENTS set in someone's shell, `distgpu topo --save` would save another machine's
// topology, or one without GPUs, for all jobs. Call it before any function of hwloc.
void unset_hwloc_variables();

}  // namespace distgpu
