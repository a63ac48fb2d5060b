// The commands of a shell script and their words, without running or expanding anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct ShellCommand {
    std::size_t line = 0;            // its first in the script, from 1
    std::vector<std::string> words;  // without quotes; $NAME and $(...) stay as written
    std::string end;  // the operator behind it: "&&", "|", "\n"; empty: the text's end
};

struct ShellText {
    std::vector<ShellCommand> commands;
    // Its operators and the order of its commands say what runs: it has no brackets and no
    // here-document, and every quote is closed.
    bool is_simple = true;
};

enum class Redirections { words, dropped };

// Splits as sh does: at ; | & and line ends into commands, at blanks into words, with quotes,
// backslashes and comments; $(...), `...` and NAME=(...) belong to their word. Here-documents are
// no words. A redirection is a word like others, unless it is dropped with its file. What is not
// closed at the end counts as closed there.
ShellText read_shell_text(std::string_view text, Redirections redirections);
inline std::vector<ShellCommand> shell_commands(std::string_view script) {
    return read_shell_text(script, Redirections::words).commands;
}

// As a shell reads it as one word, whatever is in it.
std::string shell_quoted(std::string_view text);

}  // namespace distgpu
