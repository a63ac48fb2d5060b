// Slurm on this host: which plugstack.conf it reads, where it looks plugins up, its release.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "check_config/plugin_release.h"
#include "mapping/rendezvous/rendezvous.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// PlugStackConfig of slurm.conf, else beside it.
std::string plugstack_path(const Environment& environment);

// PluginDir of slurm.conf, else as slurmctld has it. Errors: of scontrol.
Result<std::vector<std::string>> plugin_folders(const Environment& environment);

// Of slurmd, which tells without slurm.conf, else of the commands. Errors: of scontrol.
Result<SlurmRelease> slurm_release(const Environment& environment);

// The release in an answer such as "slurm-wlm 22.05.8".
Result<SlurmRelease> parse_release(const std::string& text);

// The ranges in a text of net.ipv4, such as "32768\t60999" or "4000-4100,5000".
std::vector<PortRange> parse_port_ranges(std::string_view text);

// What a key has in a text such as slurm.conf; nothing: it is not there.
std::optional<std::string> slurm_conf_value(std::string_view text, std::string_view key);

}  // namespace distgpu
