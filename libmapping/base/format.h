// Text from values, in fmt's language. What fmt does at run time is compiled once, in format.cpp:
// a file that calls fmt::format() itself compiles most of fmt again, which took five of the seven
// seconds of an average file (fmt 9 header-only, GCC 12). The plugin may not depend on a shared
// libfmt, and Debian has no static one. This header needs what the compiler checks alone, for
// which fmt has <fmt/core.h>; FMT_HEADER_ONLY would make all of fmt of it.
#pragma once

#include <fmt/core.h>

#include <cstdint>
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

}  // namespace distgpu
