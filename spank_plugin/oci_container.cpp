// See oci_container.h.
#include "oci_container.h"

#include <algorithm>

namespace distgpu {

bool names_container(std::span<const std::string> arguments, std::size_t program_arguments,
                     std::string_view variable) {
    if (!variable.empty()) return true;
    // getopt_long takes every unique beginning; the next option is --contiguous. pyxis's own
    // options begin with --container- and are others.
    constexpr std::string_view option = "--container";
    constexpr std::string_view shortest = "--conta";
    const auto is_option = [&](std::string_view argument) {
        const std::string_view name = argument.substr(0, argument.find('='));
        return name.size() >= shortest.size() && option.substr(0, name.size()) == name;
    };
    const std::size_t own = arguments.size() - std::min(arguments.size(), program_arguments);
    return std::any_of(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(own),
                       is_option);
}

}  // namespace distgpu
