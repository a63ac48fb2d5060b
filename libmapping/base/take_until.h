// Reads a text piece by piece: lines, words, the two sides of NAME=VALUE.
#pragma once

#include <algorithm>
#include <string_view>

namespace distgpu {

// What precedes the separator, or all where there is none; removes both from `text`.
inline std::string_view take_until(std::string_view& text, char separator) {
    const std::string_view taken = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(taken.size() + 1, text.size()));
    return taken;
}

}  // namespace distgpu
