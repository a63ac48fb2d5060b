// The compressed form of a host list and the questions asked of it.
#include "mapping/layout/hostlist.h"

#include "base/format.h"

#include <algorithm>
#include <array>

namespace distgpu {

namespace {

// A name's number is its last digits, at most this many: every such number and
// the one after it fit 64 bits. Digits before them belong to the prefix.
constexpr std::uint32_t max_digits = 18;

// Slurm refuses more in one range (MAX_RANGE) or more ranges in one bracket
// (MAX_RANGES): src/common/hostlist.c.
constexpr std::uint32_t slurm_max_range = 65536;
constexpr std::uint32_t slurm_max_ranges = 65536;

constexpr std::array<std::uint64_t, max_digits + 1> powers_of_ten = [] {
    std::array<std::uint64_t, max_digits + 1> powers{};
    std::uint64_t power = 1;
    for (auto& p : powers) {
        p = power;
        power *= 10;
    }
    return powers;
}();

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::uint32_t digits_of(std::uint64_t number) {
    std::uint32_t digits = 1;
    while (digits < max_digits && number >= powers_of_ten[digits]) ++digits;
    return digits;
}

// How many digits at the end of text, at most `most`.
std::uint32_t trailing_digits(std::string_view text, std::uint32_t most) {
    std::uint32_t digits = 0;
    while (digits < most && digits < text.size() && is_digit(text[text.size() - 1 - digits])) {
        ++digits;
    }
    return digits;
}

// Precondition: at most 18 digits and nothing else.
std::uint64_t to_number(std::string_view digits) {
    std::uint64_t number = 0;
    for (const char c : digits) number = number * 10 + static_cast<std::uint64_t>(c - '0');
    return number;
}

}  // namespace

void HostList::append_name(std::string_view name) {
    const auto digits = trailing_digits(name, max_digits);
    const auto prefix = name.substr(0, name.size() - digits);
    append_same_length(prefix, to_number(name.substr(prefix.size())), 1, digits);
}

// Numbers first, first + 1, ... padded to width. Cut where the number of digits
// grows, so that digits that end the prefix can join the number: n1[1-2] and
// n[11-12] are the same names and have to compare equal.
void HostList::append_numbers(std::string_view prefix, std::uint64_t first, std::uint64_t count,
                              std::uint32_t width) {
    const std::uint64_t end = first + count;
    while (first < end) {
        const auto digits = std::max(width, digits_of(first));
        const auto chunk_end = std::min(end, powers_of_ten[digits]);
        const auto moved = trailing_digits(prefix, max_digits - digits);
        const auto head = to_number(prefix.substr(prefix.size() - moved)) * powers_of_ten[digits];
        append_same_length(prefix.substr(0, prefix.size() - moved), head + first,
                           static_cast<std::uint32_t>(chunk_end - first), digits + moved);
        first = chunk_end;
    }
}

// All numbers print with the same number of digits. Joins the last range when
// its padding gives the same names.
void HostList::append_same_length(std::string_view prefix, std::uint64_t first, std::uint32_t count,
                                  std::uint32_t digits) {
    if (digits > 0 && !ranges_.empty()) {
        auto& last = ranges_.back();
        if (last.width > 0 && last.first_number + last.count == first && last.prefix == prefix &&
            std::max(last.width, digits_of(first)) == digits &&
            last.count + std::uint64_t{count} <= max_hosts) {
            last.count += count;
            return;
        }
    }
    ranges_.push_back({.prefix = std::string{prefix},
                       .first_number = first,
                       .first_index = size(),
                       .count = count,
                       .width = digits});
}

HostList HostList::from_names(std::span<const std::string> names) {
    HostList list;
    for (const auto& name : names) list.append_name(name);
    return list;
}

HostList HostList::concatenate(std::span<const HostList> lists) {
    HostList all;
    for (const auto& list : lists) {
        for (const auto& range : list.ranges_) {
            if (range.width == 0) {
                all.append_name(range.prefix);
            } else {
                all.append_numbers(range.prefix, range.first_number, range.count, range.width);
            }
        }
    }
    return all;
}

std::uint64_t HostList::size() const {
    return ranges_.empty() ? 0 : ranges_.back().first_index + ranges_.back().count;
}

std::string HostList::name(NodeIndex index) const {
    const auto after =
        std::upper_bound(ranges_.begin(), ranges_.end(), index.value,
                         [](std::uint64_t i, const Range& range) { return i < range.first_index; });
    const auto& range = *(after - 1);
    if (range.width == 0) return range.prefix;
    return formatted("{}{:0{}}", range.prefix,
                     range.first_number + (index.value - range.first_index), range.width);
}

std::optional<NodeIndex> HostList::find(std::string_view name) const {
    const auto digits = trailing_digits(name, max_digits);
    const auto prefix = name.substr(0, name.size() - digits);
    const auto number = to_number(name.substr(prefix.size()));
    for (const auto& range : ranges_) {
        if (number < range.first_number || number - range.first_number >= range.count) continue;
        const bool as_written =
            range.width == 0 ? digits == 0 : digits == std::max(range.width, digits_of(number));
        if (!as_written || prefix != range.prefix) continue;
        return NodeIndex{
            static_cast<std::uint32_t>(range.first_index + (number - range.first_number))};
    }
    return std::nullopt;
}

std::string HostList::to_string() const {
    std::string text;
    for (std::size_t i = 0; i < ranges_.size();) {
        const auto& first = ranges_[i];
        if (!text.empty()) text += ',';
        text += first.prefix;
        // The numbers of one prefix share a bracket.
        std::string numbers;
        std::uint32_t pieces = 0;
        constexpr auto most_pieces = slurm_max_ranges - max_hosts / slurm_max_range;
        for (; i < ranges_.size() && first.width > 0 && pieces < most_pieces; ++i) {
            const auto& range = ranges_[i];
            if (range.width == 0 || range.prefix != first.prefix) break;
            for (std::uint32_t done = 0; done < range.count; ++pieces) {
                const auto piece = std::min(range.count - done, slurm_max_range);
                const auto low = range.first_number + done;
                if (!numbers.empty()) numbers += ',';
                numbers += formatted("{:0{}}", low, range.width);
                if (piece > 1) numbers += formatted("-{:0{}}", low + piece - 1, range.width);
                done += piece;
            }
        }
        if (first.width == 0) ++i;
        const bool single = numbers.find_first_of(",-") == std::string::npos;
        text += single ? numbers : '[' + numbers + ']';
    }
    return text;
}

}  // namespace distgpu
