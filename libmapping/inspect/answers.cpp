#include "inspect/answers.h"

#include "base/format.h"
#include "base/take_until.h"
#include "base/values.h"

namespace distgpu {
namespace {

constexpr std::string_view mark =
    "\x1e"
    "distgpu ";
constexpr std::size_t longest_text = 800;  // of a line
constexpr std::size_t most_kept = std::size_t{256} << 20U;

}  // namespace

std::string answer_lines(std::string_view node, std::string_view text) {
    const std::size_t parts = (text.size() + longest_text - 1) / longest_text;
    std::string lines;
    for (std::size_t part = 0; part < parts; ++part) {
        lines += formatted("{}{} {} {} {}\n", mark, node, part, parts,
                           text.substr(part * longest_text, longest_text));
    }
    return lines;
}

bool Answers::take_part(std::string_view line) {
    if (!line.starts_with(mark)) return false;
    line.remove_prefix(mark.size());
    const std::string node(take_until(line, ' '));
    const auto part = whole_number(take_until(line, ' '));
    const auto parts = whole_number(take_until(line, ' '));
    if (!part || !parts || *part >= *parts || kept_ + line.size() > most_kept) return false;
    Answer& answer = answers_.try_emplace(node, Answer{*parts, {}}).first->second;
    if (answer.parts != *parts) return false;
    kept_ += line.size();
    answer.texts[*part] = line;
    return true;
}

void Answers::take_line(std::string_view line) {
    constexpr std::size_t most_others = 4096;
    if (take_part(line) || others_.size() + line.size() > most_others) return;
    others_ += line;
    others_ += '\n';
}

void Answers::take(std::string_view output) {
    rest_ += output;
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
        take_line(std::string_view(rest_).substr(begin, end - begin));
    }
    rest_.erase(0, begin);
    constexpr std::size_t longest_line = 4096;  // of any that is worth reading
    if (rest_.size() > longest_line) rest_.clear();
}

std::map<std::string, std::string> Answers::complete() const {
    std::map<std::string, std::string> texts;
    for (const auto& [node, answer] : answers_) {
        if (answer.texts.size() != answer.parts) continue;
        std::string& text = texts[node];
        for (const auto& [part, piece] : answer.texts) text += piece;
    }
    return texts;
}

}  // namespace distgpu
