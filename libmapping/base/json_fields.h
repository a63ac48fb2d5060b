// Writes and reads structs as JSON. Each struct lists its fields once:
//     static void fields(auto& io, auto& it) { io("rank", it.rank, "gpus", it.gpus); }
#pragma once

#include "base/format.h"
#include "base/json.h"

#include <type_traits>

namespace distgpu {

// For types that are written as one JSON string. A specialization has
//     static std::string text(const Value& value);
//     static std::optional<Value> parse(std::string_view text);
template <class Value>
struct JsonString {};

namespace json_fields {

template <class Value, template <class...> class Kind>
inline constexpr bool is_a = false;
template <class... Of, template <class...> class Kind>
inline constexpr bool is_a<Kind<Of...>, Kind> = true;

// Lists of lists become lists of objects, each with one field "frames" that holds the inner list.
template <class Value>
inline constexpr bool is_list_of_lists = false;
template <class Item>
inline constexpr bool is_list_of_lists<std::vector<std::vector<Item>>> = true;

class Writer {
  public:
    template <class Value, class... Rest>
    void operator()(const char* name, const Value& value, const Rest&... rest) {
        members_.push_back({name, json(value)});
        if constexpr (sizeof...(rest) > 0) (*this)(rest...);
    }

    template <class Value>
    static JsonText json(const Value& value) {
        if constexpr (requires(Writer & io) { Value::fields(io, value); }) {
            Writer io;
            Value::fields(io, value);
            return io.members_;
        } else if constexpr (requires { JsonString<Value>::text(value); }) {
            return JsonString<Value>::text(value);
        } else if constexpr (is_list_of_lists<Value>) {
            return JsonText::list(value, [](const auto& item) -> JsonText {
                return {{"frames", json(item)}};
            });
        } else if constexpr (is_a<Value, std::vector>) {
            return JsonText::list(value, json<typename Value::value_type>);
        } else if constexpr (is_a<Value, std::optional>) {
            return value ? json(*value) : JsonText();
        } else if constexpr (std::is_enum_v<Value>) {
            static_assert(std::is_same_v<std::underlying_type_t<Value>, bool>);
            return static_cast<bool>(value);
        } else if constexpr (std::is_same_v<Value, char>) {
            return std::string_view(&value, 1);
        } else {
            return value;
        }
    }

  private:
    std::vector<JsonMember> members_;
};

// A missing field is an error: it would otherwise look like an empty one.
class Reader {
  public:
    Reader(const JsonFields& json, std::size_t max_text) : json_(json), max_text_(max_text) {}

    template <class Value, class... Rest>
    void operator()(const char* name, Value& value, Rest&... rest) {
        read(name, value);
        if constexpr (sizeof...(rest) > 0) (*this)(rest...);
    }

  private:
    template <class Value>
    Value object(const JsonFields& json) const {
        Value value;
        Reader io(json, max_text_);
        if constexpr (is_a<Value, std::vector>) {
            io("frames", value);
        } else {
            Value::fields(io, value);
        }
        return value;
    }

    template <class Value>
    void read(const char* name, Value& value) {
        const auto object_of = [this](const auto& json) { return this->object<Value>(json); };
        if constexpr (requires { Value::fields(*this, value); }) {
            if (json_.value(name).is_null()) json_.refuse(name, "missing");
            value = json_.optional_object(name, object_of).value_or(Value());
        } else if constexpr (requires { JsonString<Value>::text(value); }) {
            value = json_.parsed(name, JsonString<Value>::parse);
        } else if constexpr (is_a<Value, std::vector>) {
            using Item = typename Value::value_type;
            value =
                json_.objects(name, [this](const auto& json) { return this->object<Item>(json); });
        } else if constexpr (is_a<Value, std::optional>) {
            if (!json_.value(name).is_null()) read(name, value.emplace());
        } else if constexpr (std::is_enum_v<Value>) {
            value = static_cast<Value>(json_.flag(name));
        } else {
            value = json_.count<Value>(name);
        }
    }
    void read(const char* name, std::string& value) {
        value = json_.text(name);
        if (max_text_ == 0) return;
        value = printable(std::string_view(value).substr(0, max_text_));
    }
    void read(const char* name, double& value) { value = json_.number(name); }
    void read(const char* name, bool& value) { value = json_.flag(name); }
    void read(const char* name, char& value) {
        const std::string letter = json_.text(name);
        if (letter.size() != 1) json_.refuse(name, "not a letter");
        value = letter.empty() ? '?' : letter.front();
    }
    void read(const char* name, std::vector<std::string>& texts) {
        texts = json_.texts(name);
        if (max_text_ == 0) return;
        for (std::string& text : texts) {
            text = printable(std::string_view(text).substr(0, max_text_));
        }
    }
    void read(const char* name, std::vector<double>& numbers) { numbers = json_.numbers(name); }
    void read(const char* name, std::vector<std::uint32_t>& numbers) {
        constexpr std::size_t limit = std::size_t{1} << 32U;
        numbers = json_.indices(name, limit);
    }
    void read(const char* name, std::vector<std::optional<std::uint32_t>>& percents) {
        constexpr std::uint64_t max = 100;
        for (const JsonValue& value : json_.list(name)) {
            const auto percent = value.whole_number();
            const bool is_valid = value.is_null() || percent.value_or(max + 1) <= max;
            if (!is_valid) json_.refuse(name, "not a percentage");
            percents.emplace_back(percent);
        }
    }

    const JsonFields& json_;
    std::size_t max_text_;
};

}  // namespace json_fields

template <class Value>
JsonText fields_json(const Value& value) {
    return json_fields::Writer::json(value);
}

// Reads what fields_json() wrote; nullopt for anything else. Text fields are cut to `max_text`
// bytes and made printable, for lines that anyone may send; 0 leaves them unchanged.
template <class Value>
std::optional<Value> read_fields(std::string_view line, std::size_t max_text) {
    Value value;
    const auto problem = read_json(line, [&](const JsonFields& json) {
        json_fields::Reader io(json, max_text);
        Value::fields(io, value);
    });
    return problem ? std::nullopt : std::optional(std::move(value));
}

}  // namespace distgpu
