// See cpu_bind_option.h.
#include "cpu_bind_option.h"

#include <algorithm>

namespace distgpu {
namespace {

// srun(1): q[uiet] and v[erbose] say whether the binding is reported, the rest what it is.
bool chooses(std::string_view value) {
    while (!value.empty()) {
        const std::string_view word = value.substr(0, value.find(','));
        value.remove_prefix(std::min(value.size(), word.size() + 1));
        if (word != "q" && word != "quiet" && word != "v" && word != "verbose") return true;
    }
    return false;
}

// getopt_long takes every unique beginning. --cpu-freq is the other --cpu- option, and --cpu_bind
// an older name of this one (slurm_opt.c, 22.05).
bool is_cpu_bind(std::string_view name) {
    const auto begins = [name](std::string_view option, std::string_view shortest) {
        return name.size() >= shortest.size() && option.substr(0, name.size()) == name;
    };
    return begins("--cpu-bind", "--cpu-b") || begins("--cpu_bind", "--cpu_");
}

}  // namespace

bool chooses_cpus(std::span<const std::string> arguments, std::size_t program_arguments,
                  std::string_view variable) {
    if (chooses(variable)) return true;
    const std::size_t own = arguments.size() - std::min(arguments.size(), program_arguments);
    for (std::size_t i = 0; i < own; ++i) {
        const std::string_view argument = arguments[i];
        const std::size_t equals = argument.find('=');
        if (!is_cpu_bind(argument.substr(0, equals))) continue;
        if (equals != std::string_view::npos) {
            if (chooses(argument.substr(equals + 1))) return true;
        } else if (i + 1 < own && chooses(arguments[i + 1])) {
            return true;
        }
    }
    return false;
}

}  // namespace distgpu
