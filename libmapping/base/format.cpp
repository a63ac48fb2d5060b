#define FMT_HEADER_ONLY 1  // fmt's own code is compiled into this file, and into no other
// Without std::locale, whose tables would double what the loader relocates in each process of a
// step that uses distgpu. The first is for fmt 8 to 10, the second for 11.
#define FMT_STATIC_THOUSANDS_SEPARATOR ','
#define FMT_USE_LOCALE 0
#include "base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace distgpu {
namespace {

constexpr std::size_t max_width = 60;
constexpr std::string_view ellipsis = "...";

}  // namespace

std::string vformatted(fmt::string_view text, fmt::format_args arguments) {
    return fmt::vformat(text, arguments);
}

std::string counted(std::uint64_t count, std::string_view noun) {
    return formatted("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string number_ranges(std::span<const std::uint32_t> numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        const std::uint32_t first = numbers[i];
        std::uint32_t last = first;
        while (++i < numbers.size() && numbers[i] == last + 1) ++last;
        text += formatted("{}{}", text.empty() ? "" : ",", first);
        if (last > first) text += formatted("-{}", last);
    }
    return text;
}

std::string printable(std::string_view text) {
    std::string shown(text);
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return shown;
}

std::optional<std::string> printable_line(std::string_view text, std::size_t max_size) {
    std::string line = printable(text);
    return text.size() <= max_size && line == text ? std::optional(std::move(line)) : std::nullopt;
}

std::string excerpt(std::string_view text) {
    if (text.size() <= max_width) return printable(text);
    return printable(text.substr(0, max_width - ellipsis.size())).append(ellipsis);
}

std::string place_in_text(std::string_view what, std::string_view text, std::size_t offset) {
    std::size_t begin = 0;
    std::size_t end = text.size();
    if (text.size() > max_width) {
        constexpr std::size_t inner = max_width - 2 * ellipsis.size();
        begin = std::min(offset - std::min(offset, inner / 2), text.size() - inner);
        end = begin + inner;
    }
    return formatted("{} '{}{}{}' at character {}", what, begin > 0 ? ellipsis : "",
                     printable(text.substr(begin, end - begin)), end < text.size() ? ellipsis : "",
                     offset + 1);
}

}  // namespace distgpu
