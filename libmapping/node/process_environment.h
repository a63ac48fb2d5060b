// The environment of this process.
#pragma once

#include "base/environment.h"

namespace distgpu {

class ProcessEnvironment : public Environment {
  public:
    std::optional<std::string> get(const std::string& name) const override;
    bool set(const std::string& name, const std::string& value) override;
    void unset(const std::string& name) override;
    std::vector<std::string> names() const override;
};

}  // namespace distgpu
