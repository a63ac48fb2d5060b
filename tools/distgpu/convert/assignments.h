// Commands of a script that set variables: those by which people tell the ranks of each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// The variables that `NAME=VALUE ...` and `export NAME[=VALUE] ...` set; none: another command.
std::vector<std::string> names_set(const std::vector<std::string>& words);

// Whether scripts tell ranks of each other by this variable.
bool is_of_ranks(std::string_view name);

// A command that sets variables, each of them of the ranks.
bool sets_only_ranks(const std::vector<std::string>& words);

// The first word behind NAME=VALUE; words.size(): none is.
std::size_t first_word(const std::vector<std::string>& words);

}  // namespace distgpu
