// Text from a user, made fit for one line of an error message: at most 60
// characters, bytes that are not printable ASCII as '?', what is cut as "...".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace distgpu {

// The beginning of `text`.
std::string excerpt(std::string_view text);

// "<what> '<text>' at character <offset + 1>", cut around that place. `offset`
// may be text.size(): the end.
std::string place_in_text(std::string_view what, std::string_view text, std::size_t offset);

}  // namespace distgpu
