// Text from values, in fmt's language, and users' text made fit for a message. fmt itself is
// compiled once, in format.cpp: header-only in every file it took five of the seven seconds of an
// average one, the plugin may not depend on a shared libfmt, and Debian has no static one.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distgpu {

std::string formatted_by(fmt::string_view text, fmt::format_args arguments);

// As fmt::format(), also in what the compiler checks of `text`.
template <class... Arguments>
std::string formatted(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    return formatted_by(text, fmt::make_format_args(arguments...));
}

// The items as formatted("{}") has them, with the separator between two of them.
template <class Items>
std::string join(const Items& items, std::string_view separator) {
    std::string text;
    std::string_view before;
    for (const auto& item : items) {
        text += before;
        text += formatted("{}", item);
        before = separator;
    }
    return text;
}

// "1 node", "4 nodes", for nouns whose plural adds an s.
std::string counted(std::uint64_t count, std::string_view noun);

// "0-3,5" of ascending numbers.
std::string number_ranges(std::span<const std::uint32_t> numbers);

// The text with '?' for each byte that is not printable ASCII: it can neither steer a terminal nor
// begin another line.
std::string printable(std::string_view text);

// The text itself. Nothing: it is longer, or has a byte that is not printable ASCII and could begin
// a line of its own in a log.
std::optional<std::string> printable_line(std::string_view text, std::size_t longest);

// The beginning of a user's text for a message: at most 60 characters, printable; "..." where it is
// cut.
std::string excerpt(std::string_view text);

// "<what> '<text>' at character <offset + 1>", cut in this way around that place. `offset` may be
// text.size(): the end.
std::string place_in_text(std::string_view what, std::string_view text, std::size_t offset);

}  // namespace distgpu
