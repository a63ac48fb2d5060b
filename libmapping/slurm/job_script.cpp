#include "slurm/job_script.h"

#include "base/format.h"
#include "slurm/srun_cpus.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

bool is_assignment(const std::string& word) {
    const std::size_t name = word.find_first_of("=/$-");
    return name != std::string::npos && name > 0 && word[name] == '=' &&
           word.find("$(") == std::string::npos;
}

// What may stand before a command.
bool is_prefix(const std::string& word) {
    static constexpr std::array prefixes{"exec", "time", "if",    "then", "elif", "else",
                                         "do",   "!",    "while", "{",    "env"};
    return is_assignment(word) ||
           std::find(prefixes.begin(), prefixes.end(), word) != prefixes.end();
}

bool is_srun(const std::string& word) {
    return word.substr(word.rfind('/') + 1) == "srun";
}

// As a word of its own within another, as in "$(srun" or in the text behind sh -c.
bool contains_srun(const std::string& word) {
    constexpr std::string_view srun = "srun";
    const auto belongs = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
    };
    for (std::size_t at = word.find(srun); at != std::string::npos; at = word.find(srun, at + 1)) {
        const std::size_t end = at + srun.size();
        if ((at == 0 || !belongs(word[at - 1])) && (end == word.size() || !belongs(word[end]))) {
            return true;
        }
    }
    return false;
}

std::vector<ShellCommand> directives_of(std::string_view text, std::size_t first_command) {
    constexpr std::string_view directive = "#SBATCH";
    std::vector<ShellCommand> directives;
    for (std::size_t number = 1; number < first_command && !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (!line.starts_with(directive)) continue;
        Words words{"sbatch"};
        for (const ShellCommand& command : shell_commands(line.substr(directive.size()))) {
            words.insert(words.end(), command.words.begin(), command.words.end());
        }
        directives.push_back({number, std::move(words)});
    }
    return directives;
}

}  // namespace

JobScript read_job_script(std::string_view text) {
    JobScript script;
    std::vector<ShellCommand> commands = shell_commands(text);
    script.directives =
        directives_of(text, commands.empty() ? text.size() + 2 : commands.front().line);
    SrunCpus cpus;
    for (ShellCommand& command : commands) {
        Words& words = command.words;
        cpus.pass(command);
        const auto first = std::find_if_not(words.begin(), words.end(), is_prefix);
        if (first != words.end() && is_srun(*first)) {
            script.cpus.push_back(cpus.of(command).value_or(""));
            words.erase(words.begin(), first);
            script.steps.push_back(std::move(command));
        } else if (std::any_of(words.begin(), words.end(), contains_srun)) {
            script.unclear.push_back(command.line);
        }
    }
    return script;
}

std::optional<Error> windows_line_ends(const std::string& file, std::string_view text) {
    const std::size_t first = text.find("\r\n");
    if (first == std::string_view::npos) return std::nullopt;
    const auto line = 1 + std::count(text.begin(), text.begin() + first, '\n');
    return Error{formatted("{}:{}", file, line),
                 "the line ends in \\r\\n, and sbatch refuses scripts with such lines",
                 formatted("remove each \\r: sed -i 's/\\r$//' {}", file)};
}

}  // namespace distgpu
