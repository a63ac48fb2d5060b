// The fields of one JSON object, read with their types and bounds checked.
#pragma once

#include "base/format.h"
#include "mapping/topology/cpu_set.h"
#include "mapping/topology/json_words.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {

using Json = nlohmann::json;

// What may stand in a path and in a list of names: a letter or digit, then also any of -_.:
bool is_name(const std::string& text);

// Where a field is refused, its reader returns an empty value and `problem` says why: who made the
// first Fields looks there at the end and drops all that was read. The first problem stays.
class Fields {
  public:
    // `place` names the object in messages: "gpus[3]."; "" for the whole text.
    Fields(const Json& object, std::string place, std::optional<std::string>& problem)
        : object_(object), place_(std::move(place)), problem_(problem) {}

    void refuse(std::string_view field, std::string_view why) const;

    std::uint32_t number(const char* field, std::uint32_t limit) const;  // 0 .. limit - 1
    std::string name(const char* field) const;                           // one that is_name() takes

    // A missing field and null are nothing, the empty text or set, and 0.
    std::optional<std::uint32_t> optional_number(const char* field, std::uint32_t limit) const;
    double optional_rate(const char* field, double limit) const;  // 0 .. limit
    std::string text(const char* field) const;                    // one line
    std::string optional_name(const char* field) const;
    CpuSet cpus(const char* field) const;

    template <class Value, std::size_t count>
    Value word(const char* field, const std::array<json_words::Word<Value>, count>& words) const {
        const auto value = optional_word(field, words);
        if (!value) refuse(field, "missing");
        return value.value_or(Value{});
    }

    template <class Value, std::size_t count>
    std::optional<Value> optional_word(
        const char* field, const std::array<json_words::Word<Value>, count>& words) const {
        const std::string word = text(field);
        if (word.empty()) return std::nullopt;
        for (const auto& entry : words) {
            if (entry.word == word) return entry.value;
        }
        refuse(field, "not one of its words");
        return std::nullopt;
    }

    // read(fields) for the object that the field is, where it is there.
    template <class Read>
    void optional_object(const char* field, Read&& read) const {
        const Json* const value = find(field);
        if (value == nullptr) return;
        if (!value->is_object()) return refuse(field, "not an object");
        read(Fields(*value, formatted("{}{}.", place_, field), problem_));
    }

    // read(fields, index) for each object of an array.
    template <class Read>
    void each(const char* field, Read&& read) const {
        const Json& items = array(field);
        for (std::size_t i = 0; i < items.size() && !problem_; ++i) {
            const std::string item = formatted("{}[{}]", field, i);
            if (!items[i].is_object()) return refuse(item, "not an object");
            read(Fields(items[i], formatted("{}{}.", place_, item), problem_), i);
        }
    }

    const Json& array(const char* field) const;

  private:
    const Json* find(const char* field) const;  // null: missing, or null in the text

    const Json& object_;
    std::string place_;
    std::optional<std::string>& problem_;
};

}  // namespace distgpu
