// Loads NCCL's network plugins as the task's NCCL would: in its environment, as its user, in a
// child process, because a plugin may hang or crash.
#pragma once

#include "base/environment.h"
#include "base/io/descriptor.h"
#include "command_line.h"
#include "mapping/fabric/nccl_network.h"

namespace distgpu {

// By net_plugin_files(). Each file takes until the deadline at most.
std::vector<NetPlugin> load_net_plugins(const Environment& environment, bool rccl,
                                        Deadline deadline);

// `distgpu check --load-plugin FILE`, the child: loads the plugin, has it look for its devices, and
// prints the name of its network. Errors: as NCCL would find them.
ExitCode load_net_plugin(const std::string& file);

}  // namespace distgpu
