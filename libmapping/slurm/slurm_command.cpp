#include "slurm/slurm_command.h"

#include "base/format.h"
#include "base/io/run_command.h"

namespace distgpu {

Result<std::string> run_slurm_command(const Environment& environment,
                                      const std::vector<std::string>& command,
                                      std::chrono::milliseconds time_limit) {
    std::vector<std::string> words{"/usr/bin/env"};
    for (const char* name : {"PATH", "SLURM_CONF"}) {
        if (const auto value = environment.get(name)) words.push_back(name + ("=" + *value));
    }
    words.insert(words.end(), command.begin(), command.end());
    auto text = run_command(words, time_limit);
    if (text) return text;
    // Without the variables: a PATH alone may fill the terminal.
    return Error{join(command, " "), text.error().problem, text.error().remedy};
}

}  // namespace distgpu
