// Reads texts: words, lists, numbers, paths and host names.
#pragma once

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

// What precedes the separator, or all where there is none; removes both from `text`.
inline std::string_view take_until(std::string_view& text, char separator) {
    const std::string_view taken = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(taken.size() + 1, text.size()));
    return taken;
}

// The text without such characters at its ends.
std::string_view trimmed(std::string_view text, std::string_view around = " \t\r\n");

// The words between any of the separators.
std::vector<std::string_view> words_in(std::string_view text,
                                       std::string_view separators = " \t\r\n");

// Of the first word KEY=VALUE in a line, parted by blanks; empty: there is none.
std::string_view value_in(std::string_view line, std::string_view key);

// Whether a list of words, parted by a blank each, has the word.
inline bool has_word(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        if (take_until(list, ' ') == word) return true;
    }
    return false;
}

// The words for the values of an enumeration, in its order. A value may have none: an empty one.
template <class Enumeration>
struct EnumWords {
    std::array<std::string_view, 8> words;

    constexpr std::string_view word_of(Enumeration value) const {
        return words.at(static_cast<std::size_t>(value));
    }
    std::optional<Enumeration> value_of(std::string_view word) const {
        const auto* const found = std::find(words.begin(), words.end(), word);
        if (word.empty() || found == words.end()) return std::nullopt;
        return static_cast<Enumeration>(found - words.begin());
    }
};

// "torchrun" of "/opt/venv/bin/torchrun" and of "torchrun".
inline std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

// What stands between the commas, empty items too; of an empty list one empty item.
std::vector<std::string_view> comma_items(std::string_view list);

// "12.5", "1e3", as a person writes it; independent of the locale. Nothing: another text, or not
// finite.
std::optional<double> decimal(std::string_view text);

// Decimal digits and nothing else; nothing: another text, or above 2^64 - 1.
std::optional<std::uint64_t> whole_number_64(std::string_view text);

// Decimal digits and nothing else; nothing: another text, or above 2^32 - 1.
std::optional<std::uint32_t> whole_number(std::string_view text);

// The same, and nothing from `limit` on.
std::optional<std::uint32_t> number_below(std::string_view text, std::size_t limit);

// "90s", "2m", or a number alone, which counts seconds. Nothing: another text, zero, or above
// `most`.
std::optional<std::uint32_t> seconds_in(std::string_view text, std::uint32_t most);

// "3" or "0-3", both ends included and below `limit`; nothing: another text, or the last is less
// than the first.
struct NumberRange {
    std::uint32_t first;
    std::uint32_t last;
};
std::optional<NumberRange> number_range_below(std::string_view text, std::size_t limit);

// What may stand in a host name, an IPv4 or an IPv6 address: letters, digits, '.', '-', '_', ':'.
bool is_host_character(char c);

// "host:port" with an IPv6 address in brackets.
std::string host_and_port(std::string_view address, std::uint16_t port);

// The reverse: the host without brackets, a view into `text`, and a port from 0 on. Nothing: there
// is no ':', or no port after the last one.
struct HostAndPort {
    std::string_view host;
    std::uint16_t port;
};
std::optional<HostAndPort> split_host_and_port(std::string_view text);

// The candidate with the fewest edits (insert, delete, replace, swap of neighbours) from `word`,
// for "did you mean"; nothing when even that takes more than a third of the word's letters (but two
// edits are always allowed in words from 5 letters on).
std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> candidates);

}  // namespace distgpu
