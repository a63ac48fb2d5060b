// See json_fields.h.
#include "mapping/topology/json_fields.h"

#include <algorithm>

namespace distgpu {
namespace {

constexpr std::size_t longest_text = 4096;  // Linux's longest path

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_control(char c) {
    return (c >= 0 && c < ' ') || c == '\x7f';
}

}  // namespace

bool is_name(const std::string& text) {
    return !text.empty() && text.size() <= longest_text && is_alphanumeric(text.front()) &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return is_alphanumeric(c) || std::string_view("-_.:").find(c) != std::string::npos;
           });
}

void Fields::refuse(std::string_view field, std::string_view why) const {
    if (!problem_) problem_ = formatted("\"{}{}\": {}", place_, field, why);
}

const Json* Fields::find(const char* field) const {
    const auto member = object_.find(field);
    return member == object_.end() || member->is_null() ? nullptr : &*member;
}

const Json& Fields::array(const char* field) const {
    static const Json none = Json::array();
    const Json* const value = find(field);
    if (value != nullptr && value->is_array()) return *value;
    refuse(field, "not a list");
    return none;
}

std::optional<std::uint32_t> Fields::optional_number(const char* field, std::uint32_t limit) const {
    const Json* const value = find(field);
    if (value == nullptr) return std::nullopt;
    if (value->is_number_unsigned() && value->get<std::uint64_t>() < limit) {
        return static_cast<std::uint32_t>(value->get<std::uint64_t>());
    }
    refuse(field, formatted("not a whole number below {}", limit));
    return std::nullopt;
}

std::uint32_t Fields::number(const char* field, std::uint32_t limit) const {
    const auto value = optional_number(field, limit);
    if (!value) refuse(field, "missing");
    return value.value_or(0);
}

double Fields::optional_rate(const char* field, double limit) const {
    const Json* const value = find(field);
    if (value == nullptr) return 0;
    const double rate = value->is_number() ? value->get<double>() : -1;
    if (rate >= 0 && rate <= limit) return rate;
    refuse(field, formatted("not a number from 0 to {}", limit));
    return 0;
}

std::string Fields::text(const char* field) const {
    const Json* const value = find(field);
    if (value == nullptr) return {};
    const auto* const text = value->get_ptr<const std::string*>();
    if (text != nullptr && text->size() <= longest_text &&
        std::none_of(text->begin(), text->end(), is_control)) {
        return *text;
    }
    refuse(field, "not a line of text");
    return {};
}

std::string Fields::optional_name(const char* field) const {
    std::string name = text(field);
    if (name.empty() || is_name(name)) return name;
    refuse(field, "not made of letters, digits and -_.:");
    return {};
}

std::string Fields::name(const char* field) const {
    std::string name = optional_name(field);
    if (name.empty()) refuse(field, "missing");
    return name;
}

CpuSet Fields::cpus(const char* field) const {
    const Json* const value = find(field);
    if (value == nullptr) return {};
    // Not text(): on a large node a list has more than its bytes.
    const auto* const list = value->get_ptr<const std::string*>();
    auto cpus = list == nullptr ? Result<CpuSet>(Error{}) : CpuSet::parse(*list);
    if (cpus) return *std::move(cpus);
    refuse(field, "not a list of CPUs");
    return {};
}

}  // namespace distgpu
