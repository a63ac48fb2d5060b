// Words in one text, parted by a blank each: how small tables hold names.
#pragma once

#include "base/take_until.h"

#include <string_view>

namespace distgpu {

// Whether the list has the word.
inline bool has_word(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        if (take_until(list, ' ') == word) return true;
    }
    return false;
}

}  // namespace distgpu
