// What distgpu.topo/1 has for fields beside those of every JSON: lines, names, words and CPU sets.
// A missing field and null are nothing, the empty text or set, and 0, unless they are "missing".
#pragma once

#include "base/json_fields.h"
#include "mapping/topology/cpu_set.h"
#include "mapping/topology/json_words.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distgpu {

// What may stand in a path and in a list of names: a letter or digit, then also any of -_.:
bool is_name(std::string_view text);

std::string line(const JsonFields& fields, const char* field);
std::string optional_name(const JsonFields& fields, const char* field);
std::string name(const JsonFields& fields, const char* field);  // refused: missing
CpuSet cpus(const JsonFields& fields, const char* field);
double rate(const JsonFields& fields, const char* field, double limit);  // 0 .. limit

// 0 .. limit - 1; the second is refused where it is missing.
std::optional<std::uint32_t> optional_number(const JsonFields& fields, const char* field,
                                             std::uint32_t limit);
std::uint32_t number(const JsonFields& fields, const char* field, std::uint32_t limit);

template <class Words>
auto optional_word(const JsonFields& fields, const char* field, const Words& words) {
    const std::string text = line(fields, field);
    const auto value = json_words::value_of(words, text);
    if (!text.empty() && !value) fields.refuse(field, "not one of the known words");
    return value;
}

template <class Words>
auto word(const JsonFields& fields, const char* field, const Words& words) {
    const auto value = optional_word(fields, field, words);
    if (!value) fields.refuse(field, "missing");
    return value.value_or(words.front().value);
}

}  // namespace distgpu
