// Formats values with fmt, and makes users' text safe to print. fmt is compiled once, in
// format.cpp: header-only it took five of the seven seconds that an average file compiles, the
// plugin may not depend on a shared libfmt, and Debian has no static one.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace distgpu {

std::string vformatted(fmt::string_view text, fmt::format_args arguments);

// Same as fmt::format(), including the check of `text` at compile time.
template <class... Arguments>
std::string formatted(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    return vformatted(text, fmt::make_format_args(arguments...));
}

// The items, each formatted with "{}", separated by `separator`.
template <class Items>
std::string join(const Items& items, std::string_view separator) {
    std::string text;
    std::string_view next_separator;
    for (const auto& item : items) {
        text += next_separator;
        text += formatted("{}", item);
        next_separator = separator;
    }
    return text;
}

// "1 node", "4 nodes"; for nouns whose plural ends in s.
std::string counted(std::uint64_t count, std::string_view noun);

// "0-3,5" for the numbers 0, 1, 2, 3, 5. Precondition: they ascend.
std::string number_ranges(std::span<const std::uint32_t> numbers);

// Replaces each byte that is not printable ASCII by '?', so that the text can neither control a
// terminal nor start a new line.
std::string printable(std::string_view text);

// Returns `text`, or nullopt if it is longer than `max_size` or has a byte that is not printable
// ASCII, which could forge a line of a log.
std::optional<std::string> printable_line(std::string_view text, std::size_t max_size);

// The beginning of a user's text for a message: printable, 60 characters at most, "..." if cut.
std::string excerpt(std::string_view text);

// "<what> '<text>' at character <offset + 1>", where <text> is an excerpt around the offset.
// `offset` may be text.size(), the end.
std::string place_in_text(std::string_view what, std::string_view text, std::size_t offset);

}  // namespace distgpu
