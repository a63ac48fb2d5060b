// Text that a user controls and nobody believes yet. It leaves only through a check that names its
// bound.
#pragma once

#include "base/excerpt.h"
#include "base/values.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distgpu {

class UserText {
  public:
    explicit UserText(std::string text) : text_(std::move(text)) {}

    // Nothing: not a whole number below `limit`.
    std::optional<std::uint32_t> number_below(std::size_t limit) const {
        return distgpu::number_below(text_, limit);
    }

    // Nothing: more than `longest` characters, or one that is not printable ASCII, which could
    // begin a line of its own in a log.
    std::optional<std::string> line(std::size_t longest) const;

    // Its beginning, fit for a message (excerpt.h).
    std::string shown() const { return excerpt(text_); }

    // What a reader that bounds it itself makes of it.
    template <class Reader>
    auto read_by(Reader reader) const {
        return reader(std::string_view(text_));
    }

  private:
    std::string text_;
};

}  // namespace distgpu
