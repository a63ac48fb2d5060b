// In the place of task_start.cpp: the plugin with a task_init that finds a reason to refuse on
// the hosts that the user names in REFUSE, or throws on those in THROW.
#include "node/machine.h"
#include "stepd_side.h"

#include <stdexcept>

namespace distgpu {

bool needs_host_access(spank_t /*spank*/, const EnabledStep& /*enabled*/) {
    return false;
}

HostAccess open_host_access(spank_t /*spank*/) {
    return {Error{"", "none is needed", ""}, {}};
}

std::optional<Failure> start_task(spank_t spank, const EnabledStep& /*enabled*/,
                                  const StepBinding& /*binding*/,
                                  std::optional<HostAccess>& /*host*/,
                                  const UniqueFd& /*task_parent*/,
                                  const SamplerControl& /*control*/) {
    const auto named_in = [&](const char* variable) {
        const std::string hosts = ' ' + StepVariables(spank).get(variable).value_or("") + ' ';
        return hosts.find(' ' + host_name() + ' ') != std::string::npos;
    };
    if (named_in("THROW")) throw std::runtime_error("thrown on purpose");
    if (named_in("REFUSE")) return Failure{{"task", "refused on purpose", ""}};
    return std::nullopt;
}

}  // namespace distgpu
