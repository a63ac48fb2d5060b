// An environment that is a value.
#pragma once

#include "base/environment.h"

#include <map>
#include <string>
#include <utility>

namespace distgpu {

class EnvironmentCopy : public Environment {
  public:
    using Variables = std::map<std::string, std::string>;

    EnvironmentCopy() = default;
    explicit EnvironmentCopy(Variables variables) : variables_(std::move(variables)) {}

    std::optional<std::string> get(const std::string& name) const override;
    bool set(const std::string& name, const std::string& value) override;
    void unset(const std::string& name) override;
    std::vector<std::string> names() const override;

    const Variables& variables() const { return variables_; }

  private:
    Variables variables_;
};

}  // namespace distgpu
