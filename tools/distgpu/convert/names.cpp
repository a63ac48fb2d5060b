#include "convert/names.h"

#include "base/take_until.h"
#include "slurm/shell_words.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace distgpu {
namespace {

bool is_name_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Here-documents and words of several lines, in which a line with # at its begin may be no comment.
std::vector<TextSpan> texts_of_lines(std::string_view script) {
    std::vector<TextSpan> texts;
    for (const ShellCommand& command : shell_commands(script)) {
        for (const TextSpan& word : command.spans) {
            const std::string_view raw = script.substr(word.begin, word.end - word.begin);
            if (raw.find('\n') != std::string_view::npos) texts.push_back(word);
        }
        for (const HereDocument& document : command.here_documents) {
            texts.push_back(document.span);
        }
    }
    return texts;
}

bool is_comment(std::string_view line) {
    const std::size_t begin = line.find_first_not_of(" \t");
    return begin != std::string_view::npos && line[begin] == '#';
}

// Without the comment that ends it. One that holds more than plain words may be no comment, but the
// rest of a text in quotes: it counts.
std::string_view without_comment(std::string_view line) {
    const std::size_t begin = std::min(line.find(" #"), line.size());
    const bool is_plain = std::all_of(line.begin() + begin, line.end(), [](char c) {
        return is_name_character(c) ||
               std::string_view(" #,.:;-").find(c) != std::string_view::npos;
    });
    return is_plain ? line.substr(0, begin) : line;
}

void count(std::string_view line, NameCounts& counts) {
    while (!line.empty()) {
        const auto* const begin = std::find_if(line.begin(), line.end(), is_name_character);
        const auto* const end = std::find_if_not(begin, line.end(), is_name_character);
        if (begin != end) ++counts[std::string(begin, end)];
        line.remove_prefix(static_cast<std::size_t>(end - line.begin()));
    }
}

}  // namespace

NameCounts names_in(std::string_view text) {
    NameCounts counts;
    const std::vector<TextSpan> texts = texts_of_lines(text);
    const std::size_t size = text.size();
    while (!text.empty()) {
        const std::size_t begin = size - text.size();
        const std::string_view line = take_until(text, '\n');
        const bool is_in_text = std::any_of(texts.begin(), texts.end(), [&](const TextSpan& each) {
            return each.begin <= begin && begin < each.end;
        });
        if (is_in_text || !is_comment(line)) count(without_comment(line), counts);
    }
    return counts;
}

std::size_t count_of(const NameCounts& counts, std::string_view name) {
    const auto at = counts.find(name);
    return at == counts.end() ? 0 : at->second;
}

std::string_view name_alone(std::string_view text) {
    if (!text.starts_with('$')) return "";
    text.remove_prefix(1);
    if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
    return std::all_of(text.begin(), text.end(), is_name_character) ? text : "";
}

}  // namespace distgpu
