// Reads JSON with types and bounds checked: the one way in for text that others wrote. What parses
// it is compiled once, in json_fields.cpp: nlohmann's header costs a file several seconds.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace distgpu {

// One value of a text that is being read. Nothing: it is of another type.
class JsonValue {
  public:
    explicit JsonValue(const nlohmann::json& json) : json_(&json) {}

    bool is_null() const;
    std::optional<std::string_view> text() const;
    std::optional<bool> flag() const;
    std::optional<std::uint64_t> whole() const;  // a whole number from 0
    std::optional<double> number() const;
    std::optional<std::vector<JsonValue>> list() const;

  private:
    friend class JsonFields;
    const nlohmann::json* json_;
};

struct JsonProblem {
    std::string field;  // "gpus[3].minor"; empty: the text is no JSON object
    std::string why;

    std::string message() const;  // "gpus[3].minor": missing
};

// The fields of one object. Where a field is refused, its reader returns an empty value and the
// problem says why: read_json() returns it at the end, and its caller drops all that was read. The
// first problem stays.
class JsonFields {
  public:
    // `place` names the object in problems: "gpus[3]."; "" for the whole text.
    JsonFields(const nlohmann::json& object, std::string place, std::optional<JsonProblem>& problem)
        : object_(object), place_(std::move(place)), problem_(problem) {}

    void refuse(std::string_view field, std::string_view why) const;

    bool has(const char* field) const;         // also where it is null
    JsonValue value(const char* field) const;  // null: there is none

    std::string text(const char* field) const;
    std::string optional_text(const char* field) const;  // empty: null, or there is none
    bool flag(const char* field) const;
    double number(const char* field) const;                        // finite, at least 0
    std::size_t index(const char* field, std::size_t size) const;  // 0 .. size - 1
    std::vector<std::uint32_t> indices(const char* field, std::size_t size) const;
    std::vector<double> numbers(const char* field) const;
    std::vector<std::string> texts(const char* field) const;
    std::vector<JsonValue> list(const char* field) const;

    template <class Unsigned>
    Unsigned count(const char* field) const {
        return static_cast<Unsigned>(whole(field, std::numeric_limits<Unsigned>::max()));
    }

    // find(text), which is nothing for a text that names nothing.
    template <class Find>
    auto named(const char* field, Find&& find) const {
        const auto value = find(text(field));
        if (!value) refuse(field, "not one of the known words");
        return value ? *value : std::decay_t<decltype(*value)>{};
    }

    // read(fields) of the object; nothing: null, or there is none.
    template <class Read>
    auto optional_object(const char* field, Read&& read) const {
        using Value = decltype(read(*this));
        if (value(field).is_null()) return std::optional<Value>();
        return std::optional<Value>(read(object(field)));
    }

    // read(fields) of each object of a list.
    void each(const char* field, const std::function<void(const JsonFields&)>& read) const;

    template <class Read>
    auto objects(const char* field, Read&& read) const {
        std::vector<decltype(read(*this))> values;
        each(field, [&](const JsonFields& item) { values.push_back(read(item)); });
        return values;
    }

  private:
    JsonFields object(const char* field) const;
    std::uint64_t whole(const char* field, std::uint64_t most) const;
    std::size_t index_of(JsonValue value, const char* field, std::size_t size) const;

    const nlohmann::json& object_;
    std::string place_;
    std::optional<JsonProblem>& problem_;
};

// read(fields) of the object that the text is. What is wrong with it; nothing: it was read.
std::optional<JsonProblem> read_json(std::string_view text,
                                     const std::function<void(const JsonFields&)>& read);

}  // namespace distgpu
