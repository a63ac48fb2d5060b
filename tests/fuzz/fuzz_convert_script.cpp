// Batch scripts for distgpu convert: their commands and words, and what becomes of them.
#include "convert/convert_script.h"
#include "convert_promises.h"
#include "require.h"
#include "slurm/shell_words.h"
#include "target.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace distgpu {
namespace {

void require_spans(std::string_view text) {
    std::size_t line = 1;
    std::size_t place = 0;
    for (const ShellCommand& command : shell_commands(text)) {
        require(!command.words.empty(), "a command has a word");
        require(command.words.size() == command.spans.size(), "each word stands somewhere");
        require(command.line >= line, "commands are in the order of their lines");
        line = command.line;
        for (const TextSpan& span : command.spans) {
            require(span.begin >= place && span.end > span.begin && span.end <= text.size(),
                    "words stand one behind the other");
            place = span.end;
        }
    }
}

// The lines that a diff takes from (sign '-') or leads to ('+'), without its header.
std::vector<std::string> side(const std::string& diff, char sign) {
    std::vector<std::string> lines;
    const std::vector<std::string> all = lines_of(diff);
    for (std::size_t i = 2; i < all.size(); ++i) {
        if (all[i].front() == ' ' || all[i].front() == sign) lines.push_back(all[i].substr(1));
    }
    return lines;
}

// Whether the lines come in this order, with others between them.
bool are_in(const std::vector<std::string>& some, const std::vector<std::string>& all) {
    auto at = all.begin();
    for (const std::string& line : some) {
        at = std::find(at, all.end(), line);
        if (at == all.end()) return false;
        ++at;
    }
    return true;
}

}  // namespace

void try_text(std::string_view text) {
    require_spans(text);
    const auto conversion = convert_file("job.sbatch", text);
    require(conversion.has_value(), "a script is never refused");
    require_conversion(conversion, text);
    if (conversion->script.empty()) return;
    require(conversion->diff.empty() == (conversion->script == text), "the diff shows the change");
    require(are_in(side(conversion->diff, '-'), lines_of(text)), "the diff is of the script");
    require(are_in(side(conversion->diff, '+'), lines_of(conversion->script)),
            "the diff leads to the new script");
}

}  // namespace distgpu
