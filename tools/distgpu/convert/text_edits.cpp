#include "convert/text_edits.h"

#include "base/format.h"

#include <algorithm>
#include <utility>

namespace distgpu {
namespace {

constexpr std::string_view blanks = " \t\r";

bool is_blank(std::string_view line) {
    return line.find_first_not_of(blanks) == std::string_view::npos;
}

// A comment ends with its line, backslash or not.
bool goes_on(std::string_view line) {
    return line.ends_with('\\') && line[line.find_first_not_of(blanks)] != '#';
}

// Nothing but what joins it with the next line.
bool is_empty(std::string_view line) {
    if (goes_on(line)) line.remove_suffix(1);
    return is_blank(line);
}

// A text by its lines, and the line of each place in it.
class Lines {
  public:
    explicit Lines(std::string_view text) : text_(text), lines_(lines_of(text)) {
        std::size_t begin = 0;
        for (const std::string& line : lines_) {
            begins_.push_back(begin);
            begin += line.size() + 1;
        }
        begins_.push_back(begin);
    }

    std::size_t line_at(std::size_t place) const {
        const auto next = std::upper_bound(begins_.begin(), begins_.end() - 1, place);
        return static_cast<std::size_t>(next - begins_.begin()) - 1;
    }

    std::size_t begin(std::size_t line) const { return begins_[line]; }
    const std::vector<std::string>& all() const { return lines_; }

    // With the lines that backslashes join with them.
    std::pair<std::size_t, std::size_t> joined(std::size_t first, std::size_t last) const {
        while (first > 0 && goes_on(lines_[first - 1])) --first;
        while (last + 1 < lines_.size() && goes_on(lines_[last])) ++last;
        return {first, last};
    }

    std::string_view slice(std::size_t first, std::size_t last) const {
        return text_.substr(begins_[first], begins_[last + 1] - 1 - begins_[first]);
    }

  private:
    std::string_view text_;
    std::vector<std::string> lines_;
    std::vector<std::size_t> begins_;  // and the end
};

// `edits`: by their places in the whole text, of which `text` begins at `offset`.
std::string apply(std::string_view text, std::size_t offset, const std::vector<TextEdit>& edits) {
    std::string result;
    std::size_t at = 0;
    for (const TextEdit& edit : edits) {
        result += text.substr(at, edit.span.begin - offset - at);
        if (edit.replacement.empty()) result.erase(result.find_last_not_of(blanks) + 1);
        result += edit.replacement;
        at = edit.span.end - offset;
    }
    // A word that is not closed ends behind the last newline.
    return result + std::string(text.substr(std::min(at, text.size())));
}

// What both have in common at the ends is no change.
void trim(LineChange& change, const std::vector<std::string>& all) {
    while (change.count > 0 && !change.lines.empty() &&
           change.lines.back() == all[change.first + change.count - 1]) {
        change.lines.pop_back();
        --change.count;
    }
    while (change.count > 0 && !change.lines.empty() && change.lines.front() == all[change.first]) {
        change.lines.erase(change.lines.begin());
        ++change.first;
        --change.count;
    }
    // Of the blank lines around what is gone, one is enough.
    const std::size_t next = change.first + change.count;
    if (change.lines.empty() && change.first > 0 && next < all.size() &&
        is_blank(all[change.first - 1]) && is_blank(all[next])) {
        ++change.count;
    }
}

LineChange change_of(const Lines& lines, std::size_t first, std::size_t last,
                     const std::vector<TextEdit>& edits) {
    LineChange change{first, last - first + 1, {}};
    const std::string text = apply(lines.slice(first, last), lines.begin(first), edits);
    for (std::string& line : lines_of(text)) {
        if (!is_empty(line)) change.lines.push_back(std::move(line));
    }
    // What was joined to the last line may be gone.
    if (!change.lines.empty() && goes_on(change.lines.back()) && !goes_on(lines.all()[last])) {
        std::string& end = change.lines.back();
        end.pop_back();
        end.erase(end.find_last_not_of(blanks) + 1);
    }
    trim(change, lines.all());
    return change;
}

// `unended`: the last line has no newline behind it.
std::string hunk(const std::vector<std::string>& lines, bool unended, std::size_t first,
                 std::size_t end, const std::vector<LineChange>& changes, std::ptrdiff_t shift) {
    const auto line_at = [&](std::size_t line) {
        const bool has_no_end = unended && line + 1 == lines.size();
        return lines[line] + (has_no_end ? "\n\\ No newline at end of file\n" : "\n");
    };
    std::string text;
    std::size_t at = first;
    std::size_t added = end - first;
    const auto keep_until = [&](std::size_t line) {
        for (; at < line; ++at) text += " " + line_at(at);
    };
    for (const LineChange& change : changes) {
        keep_until(change.first);
        for (; at < change.first + change.count; ++at) text += "-" + line_at(at);
        for (const std::string& line : change.lines) text += formatted("+{}\n", line);
        added += change.lines.size();
        added -= change.count;
    }
    keep_until(end);
    return formatted("@@ -{},{} +{},{} @@\n{}", first + 1, end - first,
                     static_cast<std::ptrdiff_t>(first) + 1 + shift, added, text);
}

}  // namespace

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::vector<LineChange> line_changes(std::string_view text, std::vector<TextEdit> edits) {
    // What comes at one place keeps its order.
    std::stable_sort(edits.begin(), edits.end(), [](const TextEdit& left, const TextEdit& right) {
        return std::pair(left.span.begin, left.span.end) <
               std::pair(right.span.begin, right.span.end);
    });
    const Lines lines(text);
    std::vector<LineChange> changes;
    for (auto edit = edits.begin(); edit != edits.end();) {
        const auto joined_lines = [&](const TextSpan& span) {
            const std::size_t end = std::max(span.end, span.begin + 1) - 1;
            return lines.joined(lines.line_at(span.begin), lines.line_at(end));
        };
        auto [first, last] = joined_lines(edit->span);
        std::vector<TextEdit> same{*edit};
        while (++edit != edits.end()) {
            const auto [next_first, next_last] = joined_lines(edit->span);
            if (next_first > last + 1) break;
            last = std::max(last, next_last);
            same.push_back(*edit);
        }
        changes.push_back(change_of(lines, first, last, same));
    }
    return changes;
}

std::string changed(std::string_view text, const std::vector<LineChange>& changes) {
    const std::vector<std::string> lines = lines_of(text);
    std::vector<std::string> result;
    std::size_t at = 0;
    for (const LineChange& change : changes) {
        for (; at < change.first; ++at) result.push_back(lines[at]);
        result.insert(result.end(), change.lines.begin(), change.lines.end());
        at += change.count;
    }
    const bool ends_as_before = at < lines.size() && !text.ends_with('\n');
    for (; at < lines.size(); ++at) result.push_back(lines[at]);
    return join(result, "\n") + (ends_as_before || result.empty() ? "" : "\n");
}

std::string unified_diff(const std::string& name, std::string_view text,
                         const std::vector<LineChange>& changes) {
    constexpr std::size_t context = 3;
    const std::vector<std::string> lines = lines_of(text);
    std::string diff;
    std::ptrdiff_t shift = 0;
    for (auto change = changes.begin(); change != changes.end();) {
        const std::size_t first = change->first - std::min(context, change->first);
        std::vector<LineChange> near;
        std::size_t end = first;
        for (; change != changes.end() && (near.empty() || change->first <= end + context);
             ++change) {
            near.push_back(*change);
            end = std::min(change->first + change->count + context, lines.size());
        }
        diff += hunk(lines, !text.ends_with('\n'), first, end, near, shift);
        for (const LineChange& each : near) {
            shift += static_cast<std::ptrdiff_t>(each.lines.size()) -
                     static_cast<std::ptrdiff_t>(each.count);
        }
    }
    return diff.empty() ? "" : formatted("--- {}\n+++ {} (converted)\n{}", name, name, diff);
}

}  // namespace distgpu
