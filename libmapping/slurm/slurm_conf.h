// Slurm's configuration on this host: from slurm.conf, or from Slurm's commands if there is none.
#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// The value of a key in a text such as slurm.conf; nullopt if missing.
std::optional<std::string> slurm_conf_value(std::string_view text, std::string_view key);

// PlugStackConfig of slurm.conf, or plugstack.conf in the same folder.
std::string plugstack_path(const Environment& environment);

// PluginDir of slurm.conf, or else slurmctld's. Errors: of scontrol.
Result<std::vector<std::string>> plugin_folders(const Environment& environment);

// "22.05", from slurmd, which needs no slurm.conf, or else from scontrol. Errors: of scontrol.
Result<std::string> slurm_release(const Environment& environment);

// Parses the release in a text such as "slurm-wlm 22.05.8".
Result<std::string> parse_release(const std::string& text);

}  // namespace distgpu
