#include "base/values.h"

#include "base/format.h"

#include <charconv>
#include <system_error>

namespace distgpu {
namespace {

// nullopt unless the whole text is a number.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || stop != end) return std::nullopt;
    return value;
}

// Optimal string alignment distance: Levenshtein's with swaps of neighbours, the commonest typing
// error ("pytorhc").
std::size_t edit_distance(std::string_view a, std::string_view b) {
    // rows[i][j]: edits between the first i letters of a and the first j of b.
    std::vector<std::vector<std::size_t>> rows(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                rows[i][j] = i + j;
                continue;
            }
            const std::size_t replace = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            rows[i][j] = std::min({replace, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
            }
        }
    }
    return rows[a.size()][b.size()];
}

}  // namespace

std::string_view trimmed(std::string_view text, std::string_view characters) {
    text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
    return text.substr(0, text.find_last_not_of(characters) + 1);
}

std::vector<std::string_view> words_in(std::string_view text, std::string_view separators) {
    std::vector<std::string_view> words;
    for (text = trimmed(text, separators); !text.empty(); text = trimmed(text, separators)) {
        words.push_back(text.substr(0, text.find_first_of(separators)));
        text.remove_prefix(words.back().size());
    }
    return words;
}

std::string_view value_in(std::string_view line, std::string_view key) {
    while (!line.empty()) {
        std::string_view value = cut_until(line, ' ');
        const bool has_value = value.find('=') != std::string_view::npos;
        if (has_value && cut_until(value, '=') == key) return value;
    }
    return {};
}

std::vector<std::string_view> comma_items(std::string_view list) {
    std::vector<std::string_view> items;
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        items.push_back(list.substr(at, end - at));
        at = end + 1;
    }
    return items;
}

std::optional<std::uint64_t> whole_number_64(std::string_view text) {
    return parse_number<std::uint64_t>(text);
}

std::optional<std::uint32_t> whole_number(std::string_view text) {
    return parse_number<std::uint32_t>(text);
}

std::optional<std::uint32_t> number_below(std::string_view text, std::size_t limit) {
    const auto value = whole_number(text);
    return value && *value < limit ? value : std::nullopt;
}

std::optional<std::uint32_t> seconds_in(std::string_view text, std::uint32_t max) {
    const bool is_in_minutes = text.ends_with('m');
    if (is_in_minutes || text.ends_with('s')) text.remove_suffix(1);
    constexpr std::uint64_t minute = 60;
    const std::uint64_t seconds = (is_in_minutes ? minute : 1) * whole_number(text).value_or(0);
    if (seconds == 0 || seconds > max) return std::nullopt;
    return static_cast<std::uint32_t>(seconds);
}

std::optional<NumberRange> number_range_below(std::string_view text, std::size_t limit) {
    const std::size_t dash = text.find('-');
    const auto first = number_below(text.substr(0, dash), limit);
    const bool is_single = dash == std::string_view::npos;
    const auto last = is_single ? first : number_below(text.substr(dash + 1), limit);
    if (!first || !last || *last < *first) return std::nullopt;
    return NumberRange{*first, *last};
}

bool is_host_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == ':';
}

std::string host_and_port(std::string_view address, std::uint16_t port) {
    const bool is_ipv6 = address.find(':') != std::string_view::npos;
    return is_ipv6 ? formatted("[{}]:{}", address, port) : formatted("{}:{}", address, port);
}

std::optional<HostAndPort> split_host_and_port(std::string_view text) {
    constexpr std::size_t ports = 65'536;
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto port = number_below(text.substr(colon + 1), ports);
    if (!port) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return HostAndPort{host, static_cast<std::uint16_t>(*port)};
}

std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string_view> candidates) {
    constexpr std::size_t max_size = 32;  // the table of distances grows with the product of sizes
    if (word.size() > max_size) return std::nullopt;
    std::optional<std::string_view> nearest;
    std::size_t fewest =
        word.size() >= 5 ? std::max<std::size_t>(2, word.size() / 3) : word.size() / 3;
    for (const std::string_view candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < fewest || (distance == fewest && !nearest)) {
            fewest = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

}  // namespace distgpu
