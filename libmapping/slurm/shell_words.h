// The commands of a shell script and their words, without running or expanding anything.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Where something stands in the script, in characters.
struct TextSpan {
    std::size_t begin = 0;
    std::size_t end = 0;
};

// Those that one line begins count as one.
struct HereDocument {
    TextSpan span;            // from its first line on; with the line that ends it
    bool is_replaced = true;  // what $ and ` begin in it
    bool is_closed = false;   // by that line
};

struct ShellCommand {
    std::size_t line = 0;                        // its first in the script, from 1
    std::vector<std::string> words;              // without quotes; $NAME and $(...) stay as written
    std::vector<TextSpan> spans{};               // of the words, with their quotes
    std::vector<HereDocument> here_documents{};  // of the last command on their line
};

// Splits as sh does: at ; | & and line ends into commands, at blanks into words, with quotes,
// backslashes and comments; $(...), `...` and NAME=(...) belong to their word. Here-documents are
// no words. A redirection is a word like others. What is not closed at the end counts as closed
// there.
std::vector<ShellCommand> shell_commands(std::string_view script);

// Behind the closing ) or ` of the $(...), NAME=(...) or `...` at the place; quotes and comments
// within hide what would close it. The end of the script: nothing closes it.
std::size_t end_of_substitution(std::string_view script, std::size_t at);

// As a shell reads it as one word, whatever is in it.
std::string shell_quoted(std::string_view text);

}  // namespace distgpu
