// See plugstack_arguments.h.
#include "plugstack_arguments.h"

#include <fmt/format.h>

#include <string_view>

namespace distgpu {
namespace {

template <class T>
void take(T& field, Result<T> value, std::vector<std::string>& complaints) {
    if (value) {
        field = *std::move(value);
        return;
    }
    complaints.push_back(fmt::format("distgpu: plugstack.conf: {}: {}; {}; ignored",
                                     value.error().object, value.error().problem,
                                     value.error().remedy));
}

}  // namespace

PlugstackArguments parse_plugstack_arguments(std::span<const char* const> arguments) {
    PlugstackArguments result;
    for (const std::string_view argument : arguments) {
        const std::size_t equals = argument.find('=');
        const std::string_view name = argument.substr(0, equals);
        const std::string_view value =
            equals == std::string_view::npos ? std::string_view{} : argument.substr(equals + 1);
        if (name == "master") {
            take(result.master, parse_master(value), result.complaints);
        } else if (name == "ports") {
            take(result.ports, parse_port_range(value), result.complaints);
        } else {
            result.complaints.push_back(
                fmt::format("distgpu: plugstack.conf: {}: unknown argument; arguments are master=, "
                            "ports=; ignored",
                            argument));
        }
    }
    return result;
}

}  // namespace distgpu
