// Writes JSON, and reads untrusted JSON with types and bounds checked. nlohmann's header, which
// costs several seconds per file, is compiled once, in json.cpp.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace distgpu {

struct JsonMember;

// A JSON value, kept as its text. Objects are written as initializer lists:
//     JsonText{{"rank", 3}, {"gpus", JsonText::list(gpus)}}
class JsonText {
  public:
    JsonText() = default;  // null

    template <class Value>
    requires(std::is_arithmetic_v<Value> || std::is_convertible_v<const Value&, std::string_view>)
        JsonText(const Value& value)
        : text_(text_of(value)) {}

    template <class Value>
    JsonText(const std::optional<Value>& value) : JsonText(value ? JsonText(*value) : JsonText()) {}

    JsonText(std::initializer_list<JsonMember> members);  // an object, in this order
    JsonText(const std::vector<JsonMember>& members);

    // The list of to_json(item) for each item.
    template <class Items, class ToJson>
    static JsonText list(const Items& items, ToJson&& to_json) {
        JsonText list;
        list.text_ = "[";
        for (const auto& item : items) {
            if (list.text_.size() > 1) list.text_ += ',';
            list.text_ += JsonText(to_json(item)).text_;
        }
        list.text_ += ']';
        return list;
    }

    template <class Items>
    static JsonText list(const Items& items) {
        return list(items, [](const auto& item) { return JsonText(item); });
    }

    const std::string& line() const { return text_; }  // without a newline
    std::string indented() const;                      // each member on its own line

  private:
    template <class Value>
    static std::string text_of(const Value& value) {
        if constexpr (std::is_same_v<Value, bool>) {
            return value ? "true" : "false";
        } else if constexpr (std::is_integral_v<Value>) {
            return std::to_string(value);
        } else if constexpr (std::is_floating_point_v<Value>) {
            return number(value);
        } else {
            return quoted(value);
        }
    }

    static std::string number(double value);
    // Bytes that are not UTF-8, which files of /proc may have, are replaced.
    static std::string quoted(std::string_view value);

    std::string text_ = "null";
};

struct JsonMember {
    std::string_view name;
    JsonText value;
};

// Null for an empty text, which means unknown.
inline JsonText json_text_or_null(std::string_view text) {
    return text.empty() ? JsonText() : JsonText(text);
}

// One value of a text that is being read. Each reader returns nullopt if its type is another one.
class JsonValue {
  public:
    explicit JsonValue(const nlohmann::json& json) : json_(&json) {}

    bool is_null() const;
    std::optional<std::string_view> text() const;
    std::optional<bool> flag() const;
    std::optional<std::uint64_t> whole_number() const;  // not negative
    std::optional<double> number() const;
    std::optional<std::vector<JsonValue>> list() const;

  private:
    friend class JsonFields;
    const nlohmann::json* json_;
};

struct JsonProblem {
    std::string field;  // "gpus[3].minor"; empty if the text is not a JSON object
    std::string reason;

    std::string message() const;  // "gpus[3].minor": missing
};

// The fields of one object. A reader that refuses its field returns an empty value; read_json()
// returns the first problem, and its caller then drops everything that was read.
class JsonFields {
  public:
    // The object that is the whole text.
    JsonFields(const nlohmann::json& object, std::optional<JsonProblem>& problem)
        : object_(object), problem_(problem) {}

    void refuse(std::string_view field, std::string_view reason) const;

    bool has(const char* field) const;         // also true if it is null
    JsonValue value(const char* field) const;  // null if missing

    std::string text(const char* field) const;
    std::string optional_text(const char* field) const;  // empty if null or missing
    bool flag(const char* field) const;
    double number(const char* field) const;                        // finite, at least 0
    std::size_t index(const char* field, std::size_t size) const;  // 0 .. size - 1
    // nullopt if null or missing
    std::optional<std::uint32_t> optional_index(const char* field, std::uint32_t size) const;
    std::vector<std::uint32_t> indices(const char* field, std::size_t size) const;
    std::vector<double> numbers(const char* field) const;
    std::vector<std::string> texts(const char* field) const;
    std::vector<JsonValue> list(const char* field) const;

    template <class Unsigned>
    Unsigned count(const char* field) const {
        return static_cast<Unsigned>(whole_number(field, std::numeric_limits<Unsigned>::max()));
    }

    // parse(text), which returns nullopt for an unknown text.
    template <class Parse>
    auto parsed(const char* field, Parse&& parse) const {
        const auto value = parse(text(field));
        if (!value) refuse(field, "unknown value");
        return value ? *value : std::decay_t<decltype(*value)>{};
    }

    // read(fields) of the object; nullopt if null or missing.
    template <class Read>
    auto optional_object(const char* field, Read&& read) const {
        using Value = decltype(read(*this));
        if (value(field).is_null()) return std::optional<Value>();
        return std::optional<Value>(read(object(field)));
    }

    // read(fields) of each object of a list.
    void for_each(const char* field, const std::function<void(const JsonFields&)>& read) const;

    template <class Read>
    auto objects(const char* field, Read&& read) const {
        std::vector<decltype(read(*this))> values;
        for_each(field, [&](const JsonFields& item) { values.push_back(read(item)); });
        return values;
    }

  private:
    // An object in `parent`: a field, or the item of this index in a field that is a list.
    JsonFields(const JsonFields& parent, const char* field, std::optional<std::size_t> index,
               const nlohmann::json& object)
        : object_(object),
          problem_(parent.problem_),
          parent_(&parent),
          field_(field),
          index_(index) {}

    std::string prefix() const;  // of its fields' names: "gpus[3]."; "" for the whole text
    JsonFields object(const char* field) const;
    std::uint64_t whole_number(const char* field, std::uint64_t max) const;
    std::size_t index_of(JsonValue value, const char* field, std::size_t size) const;

    const nlohmann::json& object_;
    std::optional<JsonProblem>& problem_;
    // The object's place, from which only a problem makes a text.
    const JsonFields* parent_ = nullptr;
    const char* field_ = nullptr;
    std::optional<std::size_t> index_;
};

// Parses the text and calls read(fields) for its object. Returns the first problem, or nullopt if
// everything was read.
std::optional<JsonProblem> read_json(std::string_view text,
                                     const std::function<void(const JsonFields&)>& read);

}  // namespace distgpu
