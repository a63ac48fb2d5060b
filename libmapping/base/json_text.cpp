#include "base/json_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace distgpu {
namespace {

// What stands in quotes as it is.
bool is_plain(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

}  // namespace

JsonText::JsonText(std::initializer_list<JsonMember> members) {
    set_object(members);
}

JsonText::JsonText(const std::vector<JsonMember>& members) {
    set_object(members);
}

template <class Members>
void JsonText::set_object(const Members& members) {
    text_ = "{";
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

}  // namespace distgpu
