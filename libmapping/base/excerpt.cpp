// A terminal must not be steered by what an error message quotes.
#include "base/excerpt.h"

#include "base/format.h"

#include <algorithm>

namespace distgpu {
namespace {

constexpr std::size_t widest = 60;
constexpr std::string_view cut = "...";

}  // namespace

std::string printable(std::string_view text) {
    std::string shown(text);
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return shown;
}

std::string excerpt(std::string_view text) {
    if (text.size() <= widest) return printable(text);
    return printable(text.substr(0, widest - cut.size())).append(cut);
}

std::string place_in_text(std::string_view what, std::string_view text, std::size_t offset) {
    std::size_t begin = 0;
    std::size_t end = text.size();
    if (text.size() > widest) {
        constexpr std::size_t inner = widest - 2 * cut.size();
        begin = std::min(offset - std::min(offset, inner / 2), text.size() - inner);
        end = begin + inner;
    }
    return formatted("{} '{}{}{}' at character {}", what, begin > 0 ? cut : "",
                     printable(text.substr(begin, end - begin)), end < text.size() ? cut : "",
                     offset + 1);
}

}  // namespace distgpu
