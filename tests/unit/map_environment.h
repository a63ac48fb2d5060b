// An environment of which each variable's length is limited, as that of a process is.
#pragma once

#include "base/environment.h"

#include <string>

namespace distgpu {

class MapEnvironment : public EnvironmentCopy {
  public:
    using EnvironmentCopy::EnvironmentCopy;

    bool set(const std::string& name, const std::string& value) override {
        return value.size() <= longest && EnvironmentCopy::set(name, value);
    }

    // Longer values are not taken.
    static constexpr std::size_t longest = 200;
};

}  // namespace distgpu
