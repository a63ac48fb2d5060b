#include "base/user_text.h"

namespace distgpu {

std::optional<std::string> UserText::line(std::size_t longest) const {
    if (text_.size() > longest || printable(text_) != text_) return std::nullopt;
    return text_;
}

}  // namespace distgpu
