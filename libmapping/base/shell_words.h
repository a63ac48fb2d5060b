// Splits a shell script into commands and words, without running or expanding anything.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct ShellCommand {
    std::size_t line = 0;            // where it begins, from 1
    std::vector<std::string> words;  // without quotes; $NAME and $(...) stay as written
    std::string end;  // the operator after it: "&&", "|", "\n"; empty at the end of the text
};

struct ShellText {
    std::vector<ShellCommand> commands;
    // Whether the operators and the order of the commands show what runs: there are no brackets and
    // no here-documents, and every quote is closed.
    bool is_simple = true;
};

enum class Redirections { words, dropped };

// Splits as sh does: at ; | & and line ends into commands, at blanks into words, with quotes,
// backslashes and comments; $(...), `...` and NAME=(...) belong to their word. Here-documents are
// skipped. Redirections are words like others, or are dropped with their file. Quotes and brackets
// that are still open at the end are closed there.
ShellText read_shell_text(std::string_view text, Redirections redirections);
inline std::vector<ShellCommand> shell_commands(std::string_view script) {
    return read_shell_text(script, Redirections::words).commands;
}

// Quotes the text so that a shell reads it as one word.
std::string shell_quoted(std::string_view text);

}  // namespace distgpu
