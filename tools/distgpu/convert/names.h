// Names of variables in a script: where they stand, other than in comments.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace distgpu {

// How often each stands in the text, as $NAME, in arithmetic or as a word of its own; comments do
// not count.
using NameCounts = std::map<std::string, std::size_t, std::less<>>;
NameCounts names_in(std::string_view text);

std::size_t count_of(const NameCounts& counts, std::string_view name);

// NAME of $NAME or ${NAME}; empty: another text.
std::string_view name_alone(std::string_view text);

}  // namespace distgpu
