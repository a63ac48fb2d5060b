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

    std::optional<std::string> get(const std::string& name) const override {
        const auto found = variables_.find(name);
        if (found == variables_.end()) return std::nullopt;
        return found->second;
    }
    bool set(const std::string& name, const std::string& value) override {
        variables_[name] = value;
        return true;
    }
    void unset(const std::string& name) override { variables_.erase(name); }
    std::vector<std::string> names() const override {
        std::vector<std::string> result;
        for (const auto& [name, value] : variables_) result.push_back(name);
        return result;
    }

    const Variables& variables() const { return variables_; }

  private:
    Variables variables_;
};

}  // namespace distgpu
