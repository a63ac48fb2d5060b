// Writes JSON: each value is its text. Objects are written as they stand in the code:
//     JsonText{{"rank", 3}, {"gpus", JsonText::list(gpus)}}
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace distgpu {

struct JsonMember;

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

    // json(item) of each.
    template <class Items, class ToJson>
    static JsonText list(const Items& items, ToJson&& json) {
        JsonText list;
        list.text_ = "[";
        for (const auto& item : items) {
            if (list.text_.size() > 1) list.text_ += ',';
            list.text_ += JsonText(json(item)).text_;
        }
        list.text_ += ']';
        return list;
    }

    template <class Items>
    static JsonText list(const Items& items) {
        return list(items, [](const auto& item) { return JsonText(item); });
    }

    const std::string& line() const { return text_; }  // without a newline
    std::string indented() const;                      // a member a line

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
    // Text that is not UTF-8 (a file of /proc may hold any byte) is mended.
    static std::string quoted(std::string_view value);

    template <class Members>
    void set_object(const Members& members);

    std::string text_ = "null";
};

struct JsonMember {
    std::string_view name;
    JsonText value;
};

// Null: what is not known.
inline JsonText json_text_or_null(std::string_view text) {
    return text.empty() ? JsonText() : JsonText(text);
}

}  // namespace distgpu
