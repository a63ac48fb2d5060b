// See own_process.h. POSIX calls: nothing else in the plugin needs C++ streams.
#include "own_process.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace distgpu {

std::string own_variable(const char* variable) {
    const char* const value = std::getenv(variable);
    return value == nullptr ? "" : value;
}

std::vector<std::string> own_command_line() {
    std::vector<std::string> arguments;
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (file < 0) return arguments;
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 1; size > 0;) {
        size = read(file, buffer.data(), buffer.size());
        if (size > 0) text.append(buffer.data(), static_cast<std::size_t>(size));
    }
    close(file);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\0', at), text.size());
        arguments.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return arguments;
}

}  // namespace distgpu
