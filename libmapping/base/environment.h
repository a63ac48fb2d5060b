// The environment of one task, as an adapter reads and changes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace distgpu {

class Environment {
  public:
    virtual ~Environment() = default;

    // Nothing: unset.
    virtual std::optional<std::string> get(const std::string& name) const = 0;

    // Overwrites. False: the value was not taken.
    virtual bool set(const std::string& name, const std::string& value) = 0;

    virtual void unset(const std::string& name) = 0;

    // Of all variables, in no order.
    virtual std::vector<std::string> names() const = 0;

  protected:
    Environment() = default;
    Environment(const Environment&) = default;
    Environment& operator=(const Environment&) = default;
};

}  // namespace distgpu
