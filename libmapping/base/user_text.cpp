// See user_text.h.
#include "base/user_text.h"

#include <algorithm>

namespace distgpu {

std::optional<std::string> UserText::line(std::size_t longest) const {
    const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (text_.size() > longest || !std::ranges::all_of(text_, printable)) return std::nullopt;
    return text_;
}

}  // namespace distgpu
