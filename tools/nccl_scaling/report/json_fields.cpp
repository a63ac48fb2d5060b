// See json_fields.h.
#include "report/json_fields.h"

namespace distgpu::scaling {

void Fields::refuse(std::string_view field, std::string_view why) const {
    if (problem_.empty()) problem_ = formatted("\"{}{}\": {}", place_, field, why);
}

const Fields::Json& Fields::find(const char* field) const {
    static const Json none;
    const auto member = object_.find(field);  // at the end also where this is no object
    return member == object_.end() ? none : *member;
}

const Fields::Json& Fields::array(const char* field) const {
    static const Json none = Json::array();
    const Json& value = find(field);
    if (value.is_array()) return value;
    refuse(field, "not a list");
    return none;
}

std::string Fields::text(const char* field) const {
    const Json& value = find(field);
    if (value.is_string()) return value.get<std::string>();
    refuse(field, "not text");
    return {};
}

std::string Fields::optional_text(const char* field) const {
    return find(field).is_null() ? "" : text(field);
}

bool Fields::flag(const char* field) const {
    const Json& value = find(field);
    if (value.is_boolean()) return value.get<bool>();
    refuse(field, "not true or false");
    return false;
}

double Fields::number(const char* field) const {
    const Json& value = find(field);
    if (value.is_number() && value.get<double>() >= 0) return value.get<double>();
    refuse(field, "not a number from 0");
    return 0;
}

std::optional<std::uint64_t> Fields::whole(const Json& value) {
    return value.is_number_unsigned() ? std::optional(value.get<std::uint64_t>()) : std::nullopt;
}

std::size_t Fields::index_of(const Json& value, const char* field, std::size_t size) const {
    const auto index = whole(value);
    if (index && *index < size) return *index;
    refuse(field, formatted("not a whole number below {}", size));
    return 0;
}

std::size_t Fields::index(const char* field, std::size_t size) const {
    return index_of(find(field), field, size);
}

std::vector<std::uint32_t> Fields::indices(const char* field, std::size_t size) const {
    std::vector<std::uint32_t> values;
    const Json& items = array(field);
    values.reserve(items.size());
    for (const Json& item : items) {
        values.push_back(static_cast<std::uint32_t>(index_of(item, field, size)));
    }
    return values;
}

std::vector<std::string> Fields::texts(const char* field) const {
    std::vector<std::string> values;
    const Json& items = array(field);
    values.reserve(items.size());
    for (const Json& item : items) {
        if (!item.is_string()) refuse(field, "not a list of texts");
        values.push_back(item.is_string() ? item.get<std::string>() : "");
    }
    return values;
}

}  // namespace distgpu::scaling
