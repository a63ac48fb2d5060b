// The environment of one task, which adapters read and change.
#pragma once

#include "base/values.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

class Environment {
  public:
    virtual ~Environment() = default;

    // nullopt if unset.
    virtual std::optional<std::string> get(const std::string& name) const = 0;

    // Empty if unset.
    std::string text(const std::string& name) const { return get(name).value_or(""); }

    // nullopt if unset or not a whole number up to 2^32 - 1.
    std::optional<std::uint32_t> number(const std::string& name) const {
        return whole_number(text(name));
    }

    // Overwrites an existing value. Returns false if the variable could not be set.
    virtual bool set(const std::string& name, const std::string& value) = 0;

    virtual void unset(const std::string& name) = 0;

    // The names of all variables, in no particular order.
    virtual std::vector<std::string> names() const = 0;

  protected:
    Environment() = default;
    Environment(const Environment&) = default;
    Environment& operator=(const Environment&) = default;
};

// An environment held in memory.
class EnvironmentCopy : public Environment {
  public:
    using Variables = std::map<std::string, std::string>;

    EnvironmentCopy() = default;
    explicit EnvironmentCopy(Variables variables) : variables_(std::move(variables)) {}

    // Parses NUL-terminated NAME=VALUE entries, as in /proc/PID/environ. If a name occurs twice,
    // the first one counts, as for getenv(3).
    static EnvironmentCopy from_block(std::string_view block) {
        EnvironmentCopy copy;
        while (!block.empty()) copy.add_entry(cut_until(block, '\0'));
        return copy;
    }

    // Adds a NAME=VALUE entry, unless there is one of this name. Ignores any other text.
    void add_entry(std::string_view entry) {
        const std::size_t equals = entry.find('=');
        if (equals == 0 || equals == std::string_view::npos) return;
        variables_.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }

    std::optional<std::string> get(const std::string& name) const override {
        const auto found = variables_.find(name);
        return found == variables_.end() ? std::nullopt : std::optional(found->second);
    }
    bool set(const std::string& name, const std::string& value) override {
        variables_[name] = value;
        return true;
    }
    void unset(const std::string& name) override { variables_.erase(name); }
    std::vector<std::string> names() const override {
        std::vector<std::string> names;
        for (const auto& variable : variables_) names.push_back(variable.first);
        return names;
    }

    const Variables& variables() const { return variables_; }

  private:
    Variables variables_;
};

}  // namespace distgpu
