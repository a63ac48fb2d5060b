// Splits and parses texts: words, lists, numbers, paths and host names.
#pragma once

#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu {

// Removes the text before the first separator, and the separator, from `text`, and returns it;
// without a separator, the whole text.
inline std::string_view cut_until(std::string_view& text, char separator) {
    const std::string_view head = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(head.size() + 1, text.size()));
    return head;
}

// The text without any of `characters` at its beginning and end.
std::string_view trimmed(std::string_view text, std::string_view characters = " \t\r\n");

// The words between any of the separators.
std::vector<std::string_view> words_in(std::string_view text,
                                       std::string_view separators = " \t\r\n");

// The value of the first word KEY=VALUE in a line of words separated by blanks; empty if missing.
std::string_view value_in(std::string_view line, std::string_view key);

// Whether a list of words, separated by single blanks, has the word.
inline bool has_word(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        if (cut_until(list, ' ') == word) return true;
    }
    return false;
}

// The names of an enumeration's values, in its order; empty for a value without a name.
template <class Enumeration>
struct EnumNames {
    std::array<Text, 8> names;

    constexpr std::string_view name_of(Enumeration value) const {
        return names.at(static_cast<std::size_t>(value));
    }
    std::optional<Enumeration> value_of(std::string_view name) const {
        const auto* const found = std::find(names.begin(), names.end(), name);
        if (name.empty() || found == names.end()) return std::nullopt;
        return static_cast<Enumeration>(found - names.begin());
    }
};

// "torchrun" for "/opt/venv/bin/torchrun" and for "torchrun".
inline std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

// The items between commas, including empty ones; an empty list has one empty item.
std::vector<std::string_view> comma_items(std::string_view list);

// Parses "12.5" or "1e3", independent of the locale; nullopt for any other text, or if not finite.
std::optional<double> decimal(std::string_view text);

// Parses decimal digits; nullopt for any other text, or above 2^64 - 1.
std::optional<std::uint64_t> whole_number_64(std::string_view text);

// Parses decimal digits; nullopt for any other text, or above 2^32 - 1.
std::optional<std::uint32_t> whole_number(std::string_view text);

// Same as whole_number(), but nullopt also for `limit` and above.
std::optional<std::uint32_t> number_below(std::string_view text, std::size_t limit);

// Parses "90s", "2m", or plain seconds; nullopt for any other text, zero, or above `max`.
std::optional<std::uint32_t> seconds_in(std::string_view text, std::uint32_t max);

// Parses "3" or "0-3", both ends included and below `limit`; nullopt for any other text, or if the
// last is less than the first.
struct NumberRange {
    std::uint32_t first;
    std::uint32_t last;
};
std::optional<NumberRange> number_range_below(std::string_view text, std::size_t limit);

// Whether the character may be part of a host name, an IPv4 or an IPv6 address: letters, digits,
// '.', '-', '_', ':'.
bool is_host_character(char c);

// "host:port" with an IPv6 address in brackets.
std::string host_and_port(std::string_view address, std::uint16_t port);

// The reverse: the host without brackets, a view into `text`, and a port, which may be 0. nullopt
// without a ':', or without a port after the last one.
struct HostAndPort {
    std::string_view host;
    std::uint16_t port;
};
std::optional<HostAndPort> split_host_and_port(std::string_view text);

// For "did you mean": the candidate with the fewest edits (insert, delete, replace, swap of
// neighbours) from `word`; nullopt if it needs more edits than a third of the word's letters. Words
// of at least 5 letters may always have two edits.
std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> candidates);

}  // namespace distgpu
