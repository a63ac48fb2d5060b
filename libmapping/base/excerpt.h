// Text from a user, made fit for one line of an error message: at most 60
// characters, what is not printable as '?', what is cut as "...".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace distgpu {

// The whole text, with '?' for each byte that is not printable ASCII: it can neither steer a
// terminal nor begin another line.
std::string printable(std::string_view text);

// The beginning of `text`.
std::string excerpt(std::string_view text);

// "<what> '<text>' at character <offset + 1>", cut around that place. `offset`
// may be text.size(): the end.
std::string place_in_text(std::string_view what, std::string_view text, std::size_t offset);

}  // namespace distgpu
