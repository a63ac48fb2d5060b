// Saves the node's topology without a unit of systemd: slurmd starts the save when it starts, and
// slurmstepd for a step that finds no topology of this boot.
#pragma once

#include <string>

namespace distgpu {

// Called as root. Starts `COMMAND topo --save FILE --if-needed` and does not wait for it: with no
// capabilities, a nice value of 19, no file and no variable of this process, outside of its control
// groups, and for a minute at most. Ignores failures: a step that finds no file discovers the
// topology itself.
// `leaves_jail`: first takes the node's own root (host_root.h).
void start_saving_topology(const std::string& command, const std::string& file,
                           bool leaves_jail = false);

}  // namespace distgpu
