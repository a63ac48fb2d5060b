// See srun_options.h.
#include "srun_options.h"

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

std::span<const std::string> without_program(std::span<const std::string> arguments,
                                             std::size_t program_arguments) {
    return arguments.first(arguments.size() - std::min(arguments.size(), program_arguments));
}

// getopt_long takes every beginning that no other option shares: from `shortest` on.
bool is_option(std::string_view argument, std::string_view option, std::string_view shortest) {
    const std::string_view name = argument.substr(0, argument.find('='));
    return name.size() >= shortest.size() && option.substr(0, name.size()) == name;
}

// --cpu-freq is the other --cpu- option, and --cpu_bind an older name of this one (slurm_opt.c,
// 22.05).
bool is_cpu_bind(std::string_view argument) {
    return is_option(argument, "--cpu-bind", "--cpu-b") ||
           is_option(argument, "--cpu_bind", "--cpu_");
}

// The next option is --contiguous.
bool is_container(std::string_view argument) {
    return is_option(argument, "--container", "--conta");
}

}  // namespace

bool chooses_cpus(std::span<const std::string> arguments, std::size_t program_arguments,
                  std::string_view variable) {
    if (chooses(variable)) return true;
    const auto own = without_program(arguments, program_arguments);
    for (std::size_t i = 0; i < own.size(); ++i) {
        const std::string_view argument = own[i];
        if (!is_cpu_bind(argument)) continue;
        const std::size_t equals = argument.find('=');
        if (equals != std::string_view::npos) {
            if (chooses(argument.substr(equals + 1))) return true;
        } else if (i + 1 < own.size() && chooses(own[i + 1])) {
            return true;
        }
    }
    return false;
}

bool names_container(std::span<const std::string> arguments, std::size_t program_arguments,
                     std::string_view variable) {
    return !variable.empty() ||
           std::ranges::any_of(without_program(arguments, program_arguments), is_container);
}

}  // namespace distgpu
