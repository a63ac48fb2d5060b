#include "base/values.h"

#include "base/format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace distgpu {
namespace {

// The number that the whole text is.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    if (problem != std::errc{} || stop != end) return std::nullopt;
    return value;
}

}  // namespace

std::vector<std::string_view> comma_items(std::string_view list) {
    std::vector<std::string_view> items;
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        items.push_back(list.substr(at, end - at));
        at = end + 1;
    }
    return items;
}

std::optional<double> decimal(std::string_view text) {
    const auto value = number_of<double>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::uint64_t> whole_number_64(std::string_view text) {
    return number_of<std::uint64_t>(text);
}

std::optional<std::uint32_t> whole_number(std::string_view text) {
    return number_of<std::uint32_t>(text);
}

std::optional<std::uint32_t> number_below(std::string_view text, std::size_t limit) {
    const auto value = whole_number(text);
    return value && *value < limit ? value : std::nullopt;
}

std::optional<std::uint32_t> seconds_in(std::string_view text, std::uint32_t most) {
    const bool minutes = text.ends_with('m');
    if (minutes || text.ends_with('s')) text.remove_suffix(1);
    constexpr std::uint64_t minute = 60;
    const std::uint64_t seconds = (minutes ? minute : 1) * whole_number(text).value_or(0);
    if (seconds == 0 || seconds > most) return std::nullopt;
    return static_cast<std::uint32_t>(seconds);
}

std::optional<NumberRange> number_range_below(std::string_view text, std::size_t limit) {
    const std::size_t dash = text.find('-');
    const auto first = number_below(text.substr(0, dash), limit);
    const bool alone = dash == std::string_view::npos;
    const auto last = alone ? first : number_below(text.substr(dash + 1), limit);
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

}  // namespace distgpu
