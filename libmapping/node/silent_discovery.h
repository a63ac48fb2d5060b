// What a node remembers of a discovery that did not end, so that its 5 s are spent once and not by
// every step. A file for each user: the discovery runs as the user, who could stop it for others.
#pragma once

#include "node/machine.h"
#include "node/node_topology.h"

#include <sys/types.h>

namespace distgpu {

// Whether note_silent() was called for this user in the last 10 minutes, and neither the source has
// changed since, nor the file or the command that it names.
bool is_silent(const TopologySource& source, uid_t user, const MachineRoots& roots = {});

// As root, below /run, which a boot empties. Where it cannot be written, nothing is remembered.
void note_silent(const TopologySource& source, uid_t user, const MachineRoots& roots = {});

}  // namespace distgpu
