// The valid word nearest to a misspelt one, for "did you mean".
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace distgpu {

// The candidate with the fewest edits (insert, delete, replace, swap of
// neighbours) from `word`; nothing when even that takes more than a third of
// the word's letters (but two edits are always allowed in words from 5 letters on).
std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> candidates);

}  // namespace distgpu
