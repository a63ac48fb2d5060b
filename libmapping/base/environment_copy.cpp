#include "base/environment_copy.h"

namespace distgpu {

std::optional<std::string> EnvironmentCopy::get(const std::string& name) const {
    const auto found = variables_.find(name);
    if (found == variables_.end()) return std::nullopt;
    return found->second;
}

bool EnvironmentCopy::set(const std::string& name, const std::string& value) {
    variables_[name] = value;
    return true;
}

void EnvironmentCopy::unset(const std::string& name) {
    variables_.erase(name);
}

std::vector<std::string> EnvironmentCopy::names() const {
    std::vector<std::string> result;
    result.reserve(variables_.size());
    for (const auto& variable : variables_) result.push_back(variable.first);
    return result;
}

}  // namespace distgpu
