#include "node/process_environment.h"

#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace distgpu {

std::optional<std::string> ProcessEnvironment::get(const std::string& name) const {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
}

bool ProcessEnvironment::set(const std::string& name, const std::string& value) {
    constexpr int overwrite = 1;
    return setenv(name.c_str(), value.c_str(), overwrite) == 0;
}

void ProcessEnvironment::unset(const std::string& name) {
    unsetenv(name.c_str());
}

std::vector<std::string> ProcessEnvironment::names() const {
    std::vector<std::string> result;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view variable = *entry;
        result.emplace_back(variable.substr(0, variable.find('=')));
    }
    return result;
}

}  // namespace distgpu
