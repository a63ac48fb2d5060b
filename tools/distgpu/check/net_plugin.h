// Loads NCCL's plugins as the task's NCCL would: in its environment, as its user, in a child
// process, because a plugin may hang or crash.
#pragma once

#include "base/environment.h"
#include "base/io/descriptor.h"
#include "command_line.h"
#include "mapping/fabric/nccl_network.h"

namespace distgpu {

// By net_plugin_files(). Each file takes until the deadline at most.
std::vector<NetPlugin> load_net_plugins(const Environment& environment, bool rccl,
                                        Deadline deadline);

// The first of tuner_plugin_files() that there is; nullopt if the task names none.
std::optional<NetPlugin> load_tuner_plugin(const Environment& environment, bool rccl,
                                           Deadline deadline);

// `distgpu check --load-plugin FILE`, the child: loads a plugin for networks, has it look for its
// devices, and prints the name of its network; or loads one that tunes NCCL, and prints its name.
// Errors: as NCCL would find them.
enum class PluginKind { net, tuner };
ExitCode load_plugin(const std::string& file, PluginKind kind);

}  // namespace distgpu
