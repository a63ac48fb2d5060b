#include "convert/blocks.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>

namespace distgpu {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

void Blocks::pass(const ShellCommand& command) {
    const bool was_inside = open_ + subshells_ > 0;
    bool opens = false;
    bool names_function = false;
    for (const std::string& word : command.words) {
        if (is_one_of(word, {"if", "for", "while", "until", "case", "select", "{"}) ||
            word.ends_with("(){")) {
            opens = true;
            ++open_;
        } else if (is_one_of(word, {"fi", "done", "esac", "}"})) {
            open_ -= std::min<std::size_t>(open_, 1);
        } else if (!names_function && !word.ends_with("()") &&
                   !is_one_of(word, {"then", "else", "elif", "do", "!", "time", "function"})) {
            break;
        }
        names_function = word == "function";
    }
    pass_brackets(command);
    inside_ = was_inside || opens || subshells_ > 0;
}

// What a command opens and does not close. A bracket that closes nothing is of case.
void Blocks::pass_brackets(const ShellCommand& command) {
    const std::size_t begin = command.spans.front().begin;
    const std::string_view text = script_.substr(begin, command.spans.back().end - begin);
    const auto opening = std::count(text.begin(), text.end(), '(');
    const auto closing = std::count(text.begin(), text.end(), ')');
    if (text.starts_with('(') && !text.starts_with("((") && opening > closing) ++subshells_;
    if (text.ends_with(')') && closing > opening) {
        subshells_ -= std::min<std::size_t>(subshells_, 1);
    }
}

}  // namespace distgpu
