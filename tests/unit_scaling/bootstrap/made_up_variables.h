// An environment for tests.
#pragma once

#include "bootstrap/membership.h"

#include <map>
#include <string>
#include <utility>

namespace distgpu::scaling {

inline Variables variables_of(std::map<std::string, std::string> values) {
    return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
        const auto found = values.find(name);
        if (found == values.end()) return std::nullopt;
        return found->second;
    };
}

}  // namespace distgpu::scaling
