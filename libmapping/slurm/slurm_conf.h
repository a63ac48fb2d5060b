// Slurm's configuration on this host: slurm.conf, and what the commands say where it is not here.
#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// The value of a key in a text such as slurm.conf; nothing: it is not there.
std::optional<std::string> slurm_conf_value(std::string_view text, std::string_view key);

// PlugStackConfig of slurm.conf, else beside it.
std::string plugstack_path(const Environment& environment);

// PluginDir of slurm.conf, else as slurmctld has it. Errors: of scontrol.
Result<std::vector<std::string>> plugin_folders(const Environment& environment);

// "22.05", of slurmd, which tells without slurm.conf, else of the commands. Errors: of scontrol.
Result<std::string> slurm_release(const Environment& environment);

// The release in an answer such as "slurm-wlm 22.05.8".
Result<std::string> parse_release(const std::string& text);

}  // namespace distgpu
