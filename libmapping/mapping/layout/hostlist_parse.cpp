// Reading Slurm's host list notation.
#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "mapping/layout/hostlist.h"

#include <algorithm>
#include <utility>

namespace distgpu {

namespace {

// Slurm turns each value of a bracket that does not end its name into ranges of
// its own, and so does HostList. This bounds what a short text can make: 32,768
// ranges take 10 MiB with the longest names.
constexpr std::uint64_t max_multiplied_ranges = std::uint64_t{1} << 15U;

// Numbers in brackets: HostList keeps up to 18 digits as a number.
constexpr std::size_t max_digits = 18;

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

// A name as written: text, bracket, text, bracket, ..., and text at the end.
struct Pattern {
    std::size_t offset = 0;
    std::vector<std::string> texts;  // one more than brackets
    std::vector<Bracket> brackets;
};

bool is_separator(char c) {
    return c == ',' || c == ' ' || c == '\t';
}

// 'c' is shown as itself, or as its number where it cannot be printed.
std::string show(char c) {
    if (c >= ' ' && c <= '~') return formatted("'{}'", c);
    return formatted("byte {:#04x}", static_cast<unsigned char>(c));
}

}  // namespace

class HostList::Parser {
  public:
    Parser(std::string_view text, std::uint64_t most) : text_{text}, most_{most} {}

    Result<HostList> parse();

  private:
    Error refuse(std::size_t offset, std::string problem, std::string remedy) const {
        return {.object = place_in_text("host list", text_, offset),
                .problem = std::move(problem),
                .remedy = std::move(remedy)};
    }

    Result<Pattern> read_pattern();
    Result<std::string> read_text();
    Result<Bracket> read_bracket();
    Result<Numbers> read_range();
    Result<std::string_view> read_number();
    Result<bool> check_bounds(const Pattern& pattern);
    void expand(const Pattern& pattern, std::size_t outer, std::vector<std::string>& numbers);
    void append(const Pattern& pattern, const std::vector<std::string>& numbers);

    bool at_end() const { return at_ == text_.size(); }
    char peek() const { return at_end() ? '\0' : text_[at_]; }

    std::string_view text_;
    std::uint64_t most_;
    std::size_t at_ = 0;
    std::uint64_t multiplied_ranges_ = 0;
    HostList list_;
};

Result<HostList> HostList::Parser::parse() {
    while (true) {
        while (!at_end() && is_separator(peek())) ++at_;
        if (at_end()) break;
        const auto pattern = read_pattern();
        if (!pattern) return pattern.error();
        const auto in_bounds = check_bounds(*pattern);
        if (!in_bounds) return in_bounds.error();
        std::vector<std::string> numbers(pattern->brackets.size());
        expand(*pattern, numbers.empty() ? 0 : numbers.size() - 1, numbers);
    }
    if (list_.empty()) return refuse(0, "names no host", "give at least one name, such as n[1-4]");
    return std::move(list_);
}

// A name ends at a separator outside brackets.
Result<Pattern> HostList::Parser::read_pattern() {
    Pattern pattern;
    pattern.offset = at_;
    while (true) {
        auto text = read_text();
        if (!text) return text.error();
        pattern.texts.push_back(*std::move(text));
        if (at_end() || is_separator(peek())) return pattern;
        auto bracket = read_bracket();
        if (!bracket) return bracket.error();
        pattern.brackets.push_back(*std::move(bracket));
    }
}

// Up to a separator, a '[' or the end.
Result<std::string> HostList::Parser::read_text() {
    const auto begin = at_;
    for (; !at_end() && !is_separator(peek()) && peek() != '['; ++at_) {
        const char c = peek();
        if (c == ']') {
            return refuse(at_, "']' without a '[' before it", "write ranges such as n[1-4]");
        }
        if (!is_host_character(c)) {
            return refuse(at_, show(c) + " cannot be part of a host name",
                          "use letters, digits and the characters . - _ :");
        }
    }
    return std::string{text_.substr(begin, at_ - begin)};
}

// From '[' past ']'.
Result<Bracket> HostList::Parser::read_bracket() {
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
        return refuse(at_, show(peek()) + " inside a bracket",
                      "write only numbers and ranges, such as n[1-4,7]");
    }
    ++at_;
    return bracket;
}

// "7" or "1-4". The first number's length is the padding of all.
Result<Numbers> HostList::Parser::read_range() {
    const auto begin = at_;
    const auto low = read_number();
    if (!low) return low.error();
    auto high = low;
    if (peek() == '-') {
        ++at_;
        high = read_number();
        if (!high) return high.error();
    }
    const auto number = [](std::string_view digits) {
        std::uint64_t value = 0;
        for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0');
        return value;
    };
    const auto first = number(*low);
    const auto last = number(*high);
    if (last < first) {
        return refuse(begin, formatted("the range {}-{} runs backwards", *low, *high),
                      "write the smaller number first");
    }
    return Numbers{.first = first,
                   .count = last - first + 1,
                   .width = static_cast<std::uint32_t>(low->size())};
}

Result<std::string_view> HostList::Parser::read_number() {
    const auto begin = at_;
    while (!at_end() && peek() >= '0' && peek() <= '9') ++at_;
    const auto digits = text_.substr(begin, at_ - begin);
    if (digits.empty()) {
        const auto found = at_end() ? std::string{"the end of the list"} : show(peek());
        return refuse(begin, formatted("expected a number, found {}", found),
                      "write only numbers and ranges, such as n[1-4,7]");
    }
    if (digits.size() > max_digits) {
        return refuse(begin, formatted("a number of {} digits", digits.size()),
                      formatted("numbers in brackets have at most {}", max_digits));
    }
    return digits;
}

// Everything that makes a name's expansion large is known before it is expanded.
Result<bool> HostList::Parser::check_bounds(const Pattern& pattern) {
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
        if (hosts > most_) break;
    }
    if (list_.size() + hosts > most_) {
        return refuse(pattern.offset, formatted("more than {} hosts", most_), "check the ranges");
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
    return true;
}

// Slurm's order (_push_range_list in src/common/hostlist.c): of the brackets
// before the last, the first turns fastest. `outer`: brackets still to be set,
// the last one not counted.
void HostList::Parser::expand(const Pattern& pattern, std::size_t outer,
                              std::vector<std::string>& numbers) {
    if (outer == 0) {
        append(pattern, numbers);
        return;
    }
    for (const auto& range : pattern.brackets[outer - 1].ranges) {
        for (std::uint64_t i = 0; i < range.count; ++i) {
            numbers[outer - 1] = formatted("{:0{}}", range.first + i, range.width);
            expand(pattern, outer - 1, numbers);
        }
    }
}

// The names of the last bracket, after the values of the brackets before it.
void HostList::Parser::append(const Pattern& pattern, const std::vector<std::string>& numbers) {
    std::string prefix = pattern.texts.front();
    if (pattern.brackets.empty()) {
        list_.append_name(prefix);
        return;
    }
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
            list_.append_name(
                formatted("{}{:0{}}{}", prefix, range.first + i, range.width, suffix));
        }
    }
}

Result<HostList> HostList::parse(std::string_view text, std::uint64_t most) {
    return Parser{text, most}.parse();
}

}  // namespace distgpu
