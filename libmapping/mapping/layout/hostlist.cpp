#include "mapping/layout/hostlist.h"

#include "base/format.h"
#include "base/values.h"

namespace distgpu {
namespace {

// The number of a name is its trailing digits, at most this many, so that it and its successor fit
// 64 bits. Digits before them belong to the prefix.
constexpr std::uint32_t max_digits = 18;

// Slurm refuses more in one range (MAX_RANGE in src/common/hostlist.c).
constexpr std::uint32_t slurm_max_range = 65536;

std::uint64_t power_of_ten(std::uint32_t digits) {
    std::uint64_t power = 1;
    while (digits-- > 0) power *= 10;
    return power;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

std::uint32_t digits_of(std::uint64_t number) {
    return static_cast<std::uint32_t>(std::to_string(number).size());
}

// The prefix and the trailing digits of a name.
std::pair<std::string_view, std::string_view> parts_of(std::string_view name) {
    std::size_t at = name.size();
    while (at > 0 && name.size() - at < max_digits && is_digit(name[at - 1])) --at;
    return {name.substr(0, at), name.substr(at)};
}

// The value of at most 18 digits; 0 for an empty text.
std::uint64_t to_number(std::string_view digits) {
    return whole_number_64(digits).value_or(0);
}

}  // namespace

// Extends the last range if its padding gives the same names.
void HostList::append(std::string_view name, std::uint32_t count) {
    const auto [prefix, digits] = parts_of(name);
    const auto first = to_number(digits);
    if (!digits.empty() && !ranges_.empty()) {
        auto& last = ranges_.back();
        if (last.width > 0 && last.first_number + last.count == first && last.prefix == prefix &&
            std::max(last.width, digits_of(first)) == digits.size() &&
            last.count + std::uint64_t{count} <= max_hosts) {
            last.count += count;
            return;
        }
    }
    ranges_.push_back({.prefix = std::string{prefix},
                       .first_number = first,
                       .first_index = size(),
                       .count = count,
                       .width = static_cast<std::uint32_t>(digits.size())});
}

// Appends the numbers first, first + 1, ... padded to `width`. Splits where the number of digits
// grows, so that digits at the end of the prefix join the number: n1[1-2] and n[11-12] are the same
// names and must compare equal.
void HostList::append_numbers(std::string_view prefix, std::uint64_t first, std::uint64_t count,
                              std::uint32_t width) {
    for (const std::uint64_t end = first + count; first < end;) {
        const auto chunk_end = std::min(end, power_of_ten(std::max(width, digits_of(first))));
        append(formatted("{}{:0{}}", prefix, first, width),
               static_cast<std::uint32_t>(chunk_end - first));
        first = chunk_end;
    }
}

HostList HostList::from_names(std::span<const std::string> names) {
    HostList list;
    for (const auto& name : names) list.append(name);
    return list;
}

HostList HostList::concatenate(std::span<const HostList> lists) {
    HostList all;
    for (const auto& list : lists) {
        for (const auto& range : list.ranges_) all.append(range.name(0), range.count);
    }
    return all;
}

std::string HostList::Range::name(std::uint64_t offset) const {
    return width == 0 ? prefix : formatted("{}{:0{}}", prefix, first_number + offset, width);
}

std::uint64_t HostList::size() const {
    return ranges_.empty() ? 0 : ranges_.back().first_index + ranges_.back().count;
}

std::string HostList::name(NodeIndex index) const {
    const auto after = std::ranges::upper_bound(ranges_, index.value, {}, &Range::first_index);
    const auto& range = *(after - 1);
    return range.name(index.value - range.first_index);
}

std::optional<NodeIndex> HostList::find(std::string_view name) const {
    const auto [prefix, digits] = parts_of(name);
    const auto number = to_number(digits);
    for (const auto& range : ranges_) {
        if (number < range.first_number || number - range.first_number >= range.count) continue;
        const bool has_same_digits =
            range.width == 0 ? digits.empty()
                             : digits.size() == std::max(range.width, digits_of(number));
        if (!has_same_digits || prefix != range.prefix) continue;
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
        // Ranges with the same prefix share a bracket.
        std::string numbers;
        for (; i < ranges_.size() && first.width > 0; ++i) {
            const auto& range = ranges_[i];
            if (range.width == 0 || range.prefix != first.prefix) break;
            for (std::uint32_t done = 0; done < range.count;) {
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

namespace {

// Slurm turns each value of a bracket that does not end its name into separate ranges, and so does
// HostList. This limits what a short text can expand to: 32,768 ranges take 10 MiB with the longest
// names.
constexpr std::uint64_t max_multiplied_ranges = std::uint64_t{1} << 15U;

struct Numbers {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    std::uint32_t width = 0;
};

struct Bracket {
    std::vector<Numbers> ranges;
    std::uint64_t count = 0;
    std::size_t longest = 0;  // digits of its longest number
};

// A name before its expansion: text, bracket, text, bracket, ..., and text at the end.
struct Pattern {
    std::size_t offset = 0;
    std::vector<std::string> texts;  // one more than brackets
    std::vector<Bracket> brackets;
};

bool is_separator(char c) {
    return c == ',' || c == ' ' || c == '\t';
}

// For messages: 'c', or "byte 0x07" if it is not printable.
std::string character_text(char c) {
    if (c >= ' ' && c <= '~') return formatted("'{}'", c);
    return formatted("byte {:#04x}", static_cast<unsigned char>(c));
}

}  // namespace

class HostList::Parser {
  public:
    Parser(std::string_view text, std::uint64_t limit) : text_{text}, limit_{limit} {}

    Result<HostList> parse() {
        while (true) {
            while (!at_end() && is_separator(peek())) ++at_;
            if (at_end()) break;
            const auto pattern = read_pattern();
            if (!pattern) return pattern.error();
            if (auto error = check_bounds(*pattern)) return *std::move(error);
            std::vector<std::string> numbers(pattern->brackets.size());
            expand(*pattern, numbers.empty() ? 0 : numbers.size() - 1, numbers);
        }
        if (!list_.empty()) return std::move(list_);
        return refuse(0, "names no host", "give at least one name, such as n[1-4]");
    }

  private:
    Error refuse(std::size_t offset, std::string problem, std::string remedy) const {
        return {.object = place_in_text("host list", text_, offset),
                .problem = std::move(problem),
                .remedy = std::move(remedy)};
    }

    // A name ends at a separator outside brackets.
    Result<Pattern> read_pattern() {
        Pattern pattern{at_, {""}, {}};
        while (!at_end() && !is_separator(peek())) {
            const char c = peek();
            if (c == '[') {
                auto bracket = read_bracket();
                if (!bracket) return bracket.error();
                pattern.brackets.push_back(*std::move(bracket));
                pattern.texts.emplace_back();
                continue;
            }
            if (c == ']') {
                return refuse(at_, "']' without a '[' before it", "write ranges such as n[1-4]");
            }
            if (!is_host_character(c)) {
                return refuse(at_, character_text(c) + " cannot be part of a host name",
                              "use letters, digits and the characters . - _ :");
            }
            pattern.texts.back() += c;
            ++at_;
        }
        return pattern;
    }

    // Reads from '[' to ']', and both.
    Result<Bracket> read_bracket() {
        const auto open = at_;
        Bracket bracket;
        do {
            ++at_;  // '[' or ','
            auto range = read_range();
            if (!range) return range.error();
            const auto last = range->first + range->count - 1;
            bracket.longest =
                std::max({bracket.longest, std::size_t{range->width}, std::to_string(last).size()});
            bracket.count += range->count;
            if (bracket.count > max_hosts) {
                return refuse(open, formatted("a bracket of more than {} numbers", max_hosts),
                              "check the ranges");
            }
            bracket.ranges.push_back(*range);
        } while (peek() == ',');
        if (at_end()) return refuse(open, "'[' without a ']' after it", "close the bracket");
        if (peek() != ']') {
            return refuse(at_, character_text(peek()) + " inside a bracket",
                          "write only numbers and ranges, such as n[1-4,7]");
        }
        ++at_;
        return bracket;
    }

    // "7" or "1-4". The length of the first number is the padding of all.
    Result<Numbers> read_range() {
        const auto begin = at_;
        const auto low = read_number();
        if (!low) return low.error();
        auto high = low;
        if (peek() == '-') {
            ++at_;
            high = read_number();
            if (!high) return high.error();
        }
        const auto first = to_number(*low);
        const auto last = to_number(*high);
        if (last < first) {
            return refuse(begin, formatted("the range {}-{} runs backwards", *low, *high),
                          "write the smaller number first");
        }
        return Numbers{.first = first,
                       .count = last - first + 1,
                       .width = static_cast<std::uint32_t>(low->size())};
    }

    Result<std::string_view> read_number() {
        const auto begin = at_;
        while (!at_end() && is_digit(peek())) ++at_;
        const auto digits = text_.substr(begin, at_ - begin);
        if (digits.empty()) {
            const auto found =
                at_end() ? std::string{"the end of the list"} : character_text(peek());
            return refuse(begin, formatted("expected a number, found {}", found),
                          "write only numbers and ranges, such as n[1-4,7]");
        }
        if (digits.size() > max_digits) {
            return refuse(begin, formatted("a number of {} digits", digits.size()),
                          formatted("numbers in brackets have at most {}", max_digits));
        }
        return digits;
    }

    // Limits the size of a name's expansion before it is expanded.
    std::optional<Error> check_bounds(const Pattern& pattern) {
        std::size_t length = 0;
        for (const auto& text : pattern.texts) length += text.size();
        for (const auto& bracket : pattern.brackets) length += bracket.longest;
        if (length > max_name_length) {
            return refuse(pattern.offset, formatted("a name of {} characters", length),
                          formatted("host names have at most {}", max_name_length));
        }
        std::uint64_t hosts = 1;
        for (const auto& bracket : pattern.brackets) {
            hosts *= bracket.count;
            if (hosts > limit_) break;
        }
        if (list_.size() + hosts > limit_) {
            return refuse(pattern.offset, formatted("more than {} hosts", limit_),
                          "check the ranges");
        }
        const bool ends_in_bracket = pattern.texts.back().empty();
        if (pattern.brackets.size() > 1 || (!pattern.brackets.empty() && !ends_in_bracket)) {
            const auto& last = pattern.brackets.back();
            multiplied_ranges_ += ends_in_bracket ? hosts / last.count * last.ranges.size() : hosts;
        }
        if (multiplied_ranges_ > max_multiplied_ranges) {
            return refuse(pattern.offset,
                          formatted("brackets in the middle of names make more than {} ranges",
                                    max_multiplied_ranges),
                          "split the list, or end each name with its longest range");
        }
        return std::nullopt;
    }

    // Slurm's order (_push_range_list in src/common/hostlist.c): of the brackets before the last,
    // the first varies fastest. `outer`: how many of them have no value yet.
    void expand(const Pattern& pattern, std::size_t outer, std::vector<std::string>& numbers) {
        if (outer > 0) {
            for (const auto& range : pattern.brackets[outer - 1].ranges) {
                for (std::uint64_t i = 0; i < range.count; ++i) {
                    numbers[outer - 1] = formatted("{:0{}}", range.first + i, range.width);
                    expand(pattern, outer - 1, numbers);
                }
            }
            return;
        }
        std::string prefix = pattern.texts.front();
        if (pattern.brackets.empty()) return list_.append(prefix);
        for (std::size_t i = 0; i + 1 < pattern.brackets.size(); ++i) {
            prefix += numbers[i] + pattern.texts[i + 1];
        }
        const auto& suffix = pattern.texts.back();
        for (const auto& range : pattern.brackets.back().ranges) {
            if (suffix.empty()) {
                list_.append_numbers(prefix, range.first, range.count, range.width);
                continue;
            }
            for (std::uint64_t i = 0; i < range.count; ++i) {
                list_.append(formatted("{}{:0{}}{}", prefix, range.first + i, range.width, suffix));
            }
        }
    }

    bool at_end() const { return at_ == text_.size(); }
    char peek() const { return at_end() ? '\0' : text_[at_]; }

    std::string_view text_;
    std::uint64_t limit_;
    std::size_t at_ = 0;
    std::uint64_t multiplied_ranges_ = 0;
    HostList list_;
};

Result<HostList> HostList::parse(std::string_view text, std::uint64_t limit) {
    return Parser{text, limit}.parse();
}

}  // namespace distgpu
