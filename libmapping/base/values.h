// Values of variables and options: lists, numbers, and where a process listens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

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

}  // namespace distgpu
