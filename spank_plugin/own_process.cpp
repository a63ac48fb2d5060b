#include "own_process.h"

#include "base/io/file_text.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>

namespace distgpu {

std::string own_variable(const char* variable) {
    const char* const value = std::getenv(variable);
    return value == nullptr ? "" : value;
}

std::vector<std::string> own_command_line() {
    std::vector<std::string> arguments;
    const auto text = read_regular_file("/proc/self/cmdline");
    if (!text) return arguments;
    for (std::size_t at = 0; at < text->size();) {
        const std::size_t end = std::min(text->find('\0', at), text->size());
        arguments.push_back(text->substr(at, end - at));
        at = end + 1;
    }
    return arguments;
}

std::string own_plugin_file() {
    static const char own = 0;  // lies in this plugin
    Dl_info object{};
    return dladdr(&own, &object) != 0 && object.dli_fname != nullptr ? object.dli_fname : "";
}

}  // namespace distgpu
