// The fields of one JSON object, read with their types and bounds checked.
#pragma once

#include "base/format.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace distgpu::scaling {

// Where a field is refused, its reader returns an empty value and `problem` says why: who made the
// first Fields looks there at the end and drops all that was read. The first problem stays.
class Fields {
  public:
    using Json = nlohmann::json;

    // `place` names the object in messages: "groups[3]."; "" for the whole text.
    Fields(const Json& object, std::string place, std::string& problem)
        : object_(object), place_(std::move(place)), problem_(problem) {}

    void refuse(std::string_view field, std::string_view why) const;

    std::string text(const char* field) const;
    std::string optional_text(const char* field) const;  // empty: null, or there is none
    bool flag(const char* field) const;
    double number(const char* field) const;  // finite, at least 0
    std::vector<std::string> texts(const char* field) const;

    template <class Unsigned>
    Unsigned count(const char* field) const {
        constexpr std::uint64_t most = std::numeric_limits<Unsigned>::max();
        const auto value = whole(find(field));
        if (!value || *value > most) refuse(field, formatted("not a whole number up to {}", most));
        return static_cast<Unsigned>(value.value_or(0));
    }

    std::size_t index(const char* field, std::size_t size) const;  // 0 .. size - 1
    std::vector<std::uint32_t> indices(const char* field, std::size_t size) const;

    // find(text), which is nothing for a text that names nothing.
    template <class Find>
    auto named(const char* field, Find&& find) const {
        const auto value = find(text(field));
        if (!value) refuse(field, "not one of its words");
        return value ? *value : std::decay_t<decltype(*value)>{};
    }

    // read(fields) of the object; nothing: the field is null.
    template <class Read>
    auto optional_object(const char* field, Read&& read) const {
        using Value = decltype(read(*this));
        const Json& value = find(field);
        if (value.is_null() && object_.contains(field)) return std::optional<Value>();
        if (!value.is_object()) refuse(field, "not an object");
        return std::optional<Value>(
            read(Fields(value, formatted("{}{}.", place_, field), problem_)));
    }

    // read(fields) of each object of a list.
    template <class Read>
    auto list(const char* field, Read&& read) const {
        std::vector<decltype(read(*this))> values;
        const Json& items = array(field);
        values.reserve(items.size());
        for (std::size_t i = 0; i < items.size() && problem_.empty(); ++i) {
            values.push_back(
                read(Fields(items[i], formatted("{}{}[{}].", place_, field, i), problem_)));
        }
        return values;
    }

  private:
    const Json& find(const char* field) const;   // null: there is none
    const Json& array(const char* field) const;  // empty: there is none
    static std::optional<std::uint64_t> whole(const Json& value);
    std::size_t index_of(const Json& value, const char* field, std::size_t size) const;

    const Json& object_;
    std::string place_;
    std::string& problem_;
};

}  // namespace distgpu::scaling
