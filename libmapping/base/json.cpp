#include "base/json.h"

#include "base/format.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace distgpu {
namespace {

// Needs no escape inside quotes.
bool is_plain(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

// distgpu's own texts have at most five levels. Each level of a parsed text takes over 70 bytes.
constexpr std::size_t max_depth = 32;

bool is_too_deep(std::string_view text) {
    std::size_t depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size() && depth <= max_depth; ++i) {
        const char c = text[i];
        if (c == '"') quoted = !quoted;
        if (quoted && c == '\\') ++i;
        if (!quoted && (c == '[' || c == '{')) ++depth;
        if (!quoted && (c == ']' || c == '}') && depth > 0) --depth;
    }
    return depth > max_depth;
}

}  // namespace

JsonText::JsonText(std::initializer_list<JsonMember> members)
    : JsonText(std::vector<JsonMember>(members)) {}

JsonText::JsonText(const std::vector<JsonMember>& members) : text_("{") {
    for (const JsonMember& member : members) {
        if (text_.size() > 1) text_ += ',';
        text_ += quoted(member.name) + ':' + member.value.text_;
    }
    text_ += '}';
}

std::string JsonText::indented() const {
    constexpr int spaces = 1;
    return nlohmann::ordered_json::parse(text_).dump(spaces);
}

std::string JsonText::quoted(std::string_view value) {
    if (std::all_of(value.begin(), value.end(), is_plain)) {
        return std::string("\"").append(value) + '"';
    }
    return nlohmann::ordered_json(value).dump(-1, ' ', false,
                                              nlohmann::ordered_json::error_handler_t::replace);
}

std::string JsonText::number(double value) {
    return nlohmann::ordered_json(value).dump();
}

using Json = nlohmann::json;

bool JsonValue::is_null() const {
    return json_->is_null();
}

std::optional<std::string_view> JsonValue::text() const {
    const auto* const text = json_->get_ptr<const std::string*>();
    return text == nullptr ? std::nullopt : std::optional<std::string_view>(*text);
}

std::optional<bool> JsonValue::flag() const {
    return json_->is_boolean() ? std::optional(json_->get<bool>()) : std::nullopt;
}

std::optional<std::uint64_t> JsonValue::whole_number() const {
    return json_->is_number_unsigned() ? std::optional(json_->get<std::uint64_t>()) : std::nullopt;
}

std::optional<double> JsonValue::number() const {
    return json_->is_number() ? std::optional(json_->get<double>()) : std::nullopt;
}

std::optional<std::vector<JsonValue>> JsonValue::list() const {
    if (!json_->is_array()) return std::nullopt;
    return std::vector<JsonValue>(json_->begin(), json_->end());
}

std::string JsonProblem::message() const {
    return field.empty() ? reason : formatted("\"{}\": {}", field, reason);
}

void JsonFields::refuse(std::string_view field, std::string_view reason) const {
    if (!problem_) problem_ = JsonProblem{prefix().append(field), std::string(reason)};
}

std::string JsonFields::prefix() const {
    if (parent_ == nullptr) return "";
    return parent_->prefix() + field_ + (index_ ? formatted("[{}].", *index_) : ".");
}

bool JsonFields::has(const char* field) const {
    return object_.contains(field);
}

JsonValue JsonFields::value(const char* field) const {
    static const Json null;
    const auto member = object_.find(field);
    return JsonValue(member == object_.end() ? null : *member);
}

std::string JsonFields::text(const char* field) const {
    const auto text = value(field).text();
    if (!text) refuse(field, "not a string");
    return std::string(text.value_or(""));
}

std::string JsonFields::optional_text(const char* field) const {
    return value(field).is_null() ? "" : text(field);
}

bool JsonFields::flag(const char* field) const {
    const auto flag = value(field).flag();
    if (!flag) refuse(field, "not true or false");
    return flag.value_or(false);
}

double JsonFields::number(const char* field) const {
    const auto number = value(field).number();
    if (number && *number >= 0) return *number;
    refuse(field, "not a number from 0");
    return 0;
}

std::uint64_t JsonFields::whole_number(const char* field, std::uint64_t max) const {
    const auto number = value(field).whole_number();
    if (number && *number <= max) return *number;
    refuse(field, formatted("not a whole number up to {}", max));
    return 0;
}

std::size_t JsonFields::index_of(JsonValue value, const char* field, std::size_t size) const {
    const auto index = value.whole_number();
    if (index && *index < size) return *index;
    refuse(field, formatted("not a whole number below {}", size));
    return 0;
}

std::size_t JsonFields::index(const char* field, std::size_t size) const {
    return index_of(value(field), field, size);
}

std::optional<std::uint32_t> JsonFields::optional_index(const char* field,
                                                        std::uint32_t size) const {
    const JsonValue index = value(field);
    if (index.is_null()) return std::nullopt;
    return static_cast<std::uint32_t>(index_of(index, field, size));
}

std::vector<std::uint32_t> JsonFields::indices(const char* field, std::size_t size) const {
    std::vector<std::uint32_t> values;
    for (const JsonValue item : list(field)) {
        values.push_back(static_cast<std::uint32_t>(index_of(item, field, size)));
    }
    return values;
}

std::vector<double> JsonFields::numbers(const char* field) const {
    std::vector<double> values;
    for (const JsonValue item : list(field)) {
        const auto number = item.number();
        if (!number) refuse(field, "not a list of numbers");
        values.push_back(number.value_or(0));
    }
    return values;
}

std::vector<std::string> JsonFields::texts(const char* field) const {
    std::vector<std::string> values;
    for (const JsonValue item : list(field)) {
        const auto text = item.text();
        if (!text) refuse(field, "not a list of strings");
        values.emplace_back(text.value_or(""));
    }
    return values;
}

std::vector<JsonValue> JsonFields::list(const char* field) const {
    auto values = value(field).list();
    if (!values) refuse(field, "not a list");
    return std::move(values).value_or(std::vector<JsonValue>());
}

JsonFields JsonFields::object(const char* field) const {
    const JsonValue object = value(field);
    if (!object.json_->is_object()) refuse(field, "not an object");
    return {*this, field, std::nullopt, *object.json_};
}

void JsonFields::for_each(const char* field,
                          const std::function<void(const JsonFields&)>& read) const {
    std::size_t index = 0;
    for (const JsonValue item : list(field)) {
        if (problem_) return;
        if (!item.json_->is_object()) {
            return refuse(formatted("{}[{}]", field, index), "not an object");
        }
        read(JsonFields(*this, field, index++, *item.json_));
    }
}

std::optional<JsonProblem> read_json(std::string_view text,
                                     const std::function<void(const JsonFields&)>& read) {
    if (is_too_deep(text)) {
        return JsonProblem{"", formatted("nested deeper than {} levels", max_depth)};
    }
    constexpr bool throw_on_error = false;
    const Json json = Json::parse(text, /*callback=*/nullptr, throw_on_error);
    if (json.is_discarded()) return JsonProblem{"", "not JSON, or cut short"};
    if (!json.is_object()) return JsonProblem{"", "not a JSON object"};
    std::optional<JsonProblem> problem;
    read(JsonFields(json, problem));
    return problem;
}

}  // namespace distgpu
