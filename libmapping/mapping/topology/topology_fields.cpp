#include "mapping/topology/topology_fields.h"

#include "base/format.h"

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

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= longest_text && is_alphanumeric(text.front()) &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return is_alphanumeric(c) || std::string_view("-_.:").find(c) != std::string::npos;
           });
}

std::string line(const JsonFields& fields, const char* field) {
    const JsonValue value = fields.value(field);
    if (value.is_null()) return {};
    const auto text = value.text();
    if (text && text->size() <= longest_text &&
        std::none_of(text->begin(), text->end(), is_control)) {
        return std::string(*text);
    }
    fields.refuse(field, "not a line of text");
    return {};
}

std::string optional_name(const JsonFields& fields, const char* field) {
    std::string name = line(fields, field);
    if (name.empty() || is_name(name)) return name;
    fields.refuse(field, "not made of letters, digits and -_.:");
    return {};
}

std::string name(const JsonFields& fields, const char* field) {
    std::string name = optional_name(fields, field);
    if (name.empty()) fields.refuse(field, "missing");
    return name;
}

CpuSet cpus(const JsonFields& fields, const char* field) {
    const JsonValue value = fields.value(field);
    if (value.is_null()) return {};
    // Not line(): on a large node a list has more than its bytes.
    const auto list = value.text();
    auto cpus = list ? CpuSet::parse(*list) : Result<CpuSet>(Error{});
    if (cpus) return *std::move(cpus);
    fields.refuse(field, "not a list of CPUs");
    return {};
}

double rate(const JsonFields& fields, const char* field, double limit) {
    const JsonValue value = fields.value(field);
    if (value.is_null()) return 0;
    const double rate = value.number().value_or(-1);
    if (rate >= 0 && rate <= limit) return rate;
    fields.refuse(field, formatted("not a number from 0 to {}", limit));
    return 0;
}

std::optional<std::uint32_t> optional_number(const JsonFields& fields, const char* field,
                                             std::uint32_t limit) {
    if (fields.value(field).is_null()) return std::nullopt;
    return static_cast<std::uint32_t>(fields.index(field, limit));
}

std::uint32_t number(const JsonFields& fields, const char* field, std::uint32_t limit) {
    const auto value = optional_number(fields, field, limit);
    if (!value) fields.refuse(field, "missing");
    return value.value_or(0);
}

}  // namespace distgpu
