// What is wrong with the lines of plugstack.conf, before Slurm reads them on every host.
#pragma once

#include "base/result.h"
#include "check_config/plugin_release.h"
#include "check_config/plugstack_file.h"
#include "mapping/rendezvous/rendezvous.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// What of this host counts.
struct SlurmHere {
    Result<SlurmRelease> release;
    Result<std::vector<std::string>> plugin_folders;  // PluginDir
    PortRange ephemeral_ports;                        // that the kernel gives to anybody
    std::vector<PortRange> kept_ports;                // of these those that it does not
    std::string own_plugin;                           // where distgpu's is installed
};

struct Remark {
    std::string file;
    std::size_t line = 0;  // 0: the file as a whole
    Error error;

    // "FILE:LINE: OBJECT: PROBLEM; REMEDY"
    std::string text() const;
};

// In the order of the lines. `file`: the one that includes the others. What is said of a file
// holds for each plugin, the rest for distgpu's.
std::vector<Remark> judge_plugstack(const std::string& file, const std::vector<ConfigLine>& lines,
                                    const SlurmHere& slurm);

}  // namespace distgpu
