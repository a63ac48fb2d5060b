// See harmless.h.
#include "convert/harmless.h"

#include "base/file_name.h"
#include "convert/assignments.h"
#include "mapping/spec/slurm_options.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;

template <std::size_t count>
bool is_among(const std::array<std::string_view, count>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Known by its name alone or from the system's folders: another path may name anything.
bool is_known_place(std::string_view path) {
    const std::string_view folder = path.substr(0, path.size() - file_name(path).size());
    static constexpr std::array<std::string_view, 3> folders{"", "/bin/", "/usr/bin/"};
    return is_among(folders, folder);
}

// Programs that print what they find and start nothing, if printing is all that their words ask
// for.
bool only_prints(std::string_view program) {
    static constexpr std::array<std::string_view, 28> names{
        "hostname", "scontrol", "head",     "tail",    "cut",      "tr",  "grep",
        "sort",     "uniq",     "wc",       "echo",    "printf",   "cat", "seq",
        "shuf",     "expr",     "basename", "dirname", "realpath", "pwd", "date",
        "paste",    "tac",      "whoami",   "nproc",   "getent",   "awk", "sed"};
    return is_among(names, program);
}

// Programs and parts of the shell that start no other program.
bool starts_nothing(std::span<const std::string> words) {
    static constexpr std::array<std::string_view, 47> names{
        "cd",    "module", "ml",     "mkdir", "rm",     "cp",       "mv",        "ln",
        "ls",    "touch",  "chmod",  "rsync", "tar",    "unzip",    "sleep",     "true",
        "false", ":",      "unset",  "shopt", "umask",  "ulimit",   "local",     "read",
        "wait",  "exit",   "return", "shift", "break",  "continue", "test",      "[",
        "[[",    "for",    "which",  "type",  "pushd",  "popd",     "id",        "uname",
        "df",    "free",   "mktemp", "lscpu", "squeue", "sinfo",    "nvidia-smi"};
    const std::string_view program = file_name(words.front());
    // Without words of this kind they print all variables.
    if (program == "export") return !names_set({words.begin(), words.end()}).empty();
    if (program == "set") {
        return words.size() > 1 && (words[1].starts_with('-') || words[1].starts_with('+'));
    }
    return program.starts_with("((") || is_among(names, program);
}

bool needs_no_rank(std::string_view program) {
    static constexpr std::array<std::string_view, 12> names{
        "hostname", "nvidia-smi", "echo", "date",  "true", "mkdir",
        "rm",       "cp",         "ls",   "rsync", "tar",  "sleep"};
    return is_known_place(program) && is_among(names, file_name(program));
}

// Words of the shell before a command.
bool precedes_command(std::string_view word) {
    static constexpr std::array<std::string_view, 15> words{"if", "then", "else",  "elif",  "fi",
                                                            "do", "done", "while", "until", "{",
                                                            "}",  "(",    ")",     "!",     "esac"};
    return is_among(words, word);
}

// What activates an environment.
bool activates(std::span<const std::string> words) {
    if (words.size() < 2) return false;
    const std::string_view name = words[0];
    const std::string_view next = words[1];
    if (name == "conda" || name == "mamba") return next == "activate" || next == "deactivate";
    static constexpr std::array<std::string_view, 4> files{"activate", "conda.sh", ".bashrc",
                                                           "profile"};
    return (name == "source" || name == ".") && is_among(files, file_name(next));
}

// One s command that neither starts a program (its flag e) nor writes a file (w), or commands that
// print or leave out lines.
bool is_harmless_sed(std::string_view script) {
    if (script.find_first_not_of("0123456789,$pdq") == std::string_view::npos) return true;
    if (script.size() < 2 || script.front() != 's') return false;
    const char delimiter = script[1];
    const std::string_view flags = script.substr(script.rfind(delimiter) + 1);
    return std::count(script.begin(), script.end(), delimiter) == 3 &&
           flags.find_first_not_of("gpI0123456789") == std::string_view::npos;
}

// The scripts of awk and sed can start programs, read variables and write files; scontrol can do
// more than show.
bool has_harmless_words(std::span<const std::string> words) {
    const std::string_view program = file_name(words.front());
    const auto rest = words.subspan(1);
    if (program == "scontrol") return !rest.empty() && rest.front() == "show";
    if (program == "awk") {
        return std::none_of(rest.begin(), rest.end(), [](std::string_view word) {
            static constexpr std::array<std::string_view, 5> doubtful{"system", "|", "ENVIRON",
                                                                      "-f", "@"};
            return std::any_of(doubtful.begin(), doubtful.end(), [&](std::string_view text) {
                return word.find(text) != std::string_view::npos;
            });
        });
    }
    if (program == "sed") {
        const auto script = std::find_if(rest.begin(), rest.end(), [](const std::string& word) {
            return word != "-n" && word != "-E" && word != "-r";
        });
        return script != rest.end() && is_harmless_sed(*script) &&
               std::none_of(script, rest.end(),
                            [](const std::string& word) { return word.starts_with('-'); });
    }
    return true;
}

bool writes_nothing(const Words& words) {
    return std::all_of(words.begin(), words.end(), [](const std::string& word) {
        return word.find('>') == std::string::npos || word == "2>/dev/null" || word == "2>&1";
    });
}

// A command that begins with srun, as its options and its program; nothing: it is not understood,
// or Slurm starts another program for it.
struct PlainStep {
    SlurmOptions options;
    std::span<const std::string> program;
};

std::optional<PlainStep> plain_step(std::span<const std::string> words) {
    SlurmLine line = parse_slurm_line(words, SlurmCommand::srun);
    if (!line.has_certain_program() || line.program >= words.size()) return std::nullopt;
    for (const char* starts_another :
         {"multi-prog", "prolog", "epilog", "task-prolog", "task-epilog"}) {
        if (line.options.has(starts_another)) return std::nullopt;
    }
    return PlainStep{std::move(line.options), words.subspan(line.program)};
}

// A step that has --distgpu, or whose program needs no rank.
bool is_harmless_step(std::span<const std::string> words) {
    const auto step = plain_step(words);
    return step && (step->options.has("distgpu") || needs_no_rank(step->program.front()));
}

bool command_only_prints(std::span<const std::string> words) {
    if (file_name(words.front()) == "srun") {
        const auto step = plain_step(words);
        return step && !step->options.has("output") && !step->options.has("error") &&
               needs_no_rank(step->program.front()) && command_only_prints(step->program);
    }
    return is_known_place(words.front()) && only_prints(file_name(words.front())) &&
           has_harmless_words(words);
}

bool only_prints_in(std::string_view text, int depth);

bool word_only_prints(std::string_view word, int depth) {
    if (word.find("<(") != std::string_view::npos || word.find(">(") != std::string_view::npos) {
        return false;
    }
    for (std::size_t at = 0; at < word.size(); ++at) {
        const bool is_old = word[at] == '`';
        if (!is_old && word.substr(at, 2) != "$(") continue;
        if (word.substr(at, 3) == "$((") {  // arithmetic, which may hold a substitution
            at += 2;
            continue;
        }
        const std::size_t end = end_of_substitution(word, at);
        const std::size_t begin = at + (is_old ? 1 : 2);
        if (end <= begin || !only_prints_in(word.substr(begin, end - 1 - begin), depth)) {
            return false;
        }
        at = end - 1;
    }
    return true;
}

bool all_only_print(const Words& words, int depth) {
    return std::all_of(words.begin(), words.end(),
                       [&](const std::string& word) { return word_only_prints(word, depth); });
}

// Deeper than this nobody writes.
bool only_prints_in(std::string_view text, int depth) {
    constexpr int deepest = 10;
    if (depth > deepest) return false;
    const std::vector<ShellCommand> commands = shell_commands(text);
    return std::all_of(commands.begin(), commands.end(), [&](const ShellCommand& command) {
        const Words& words = command.words;
        return command_only_prints(words) && writes_nothing(words) &&
               all_only_print(words, depth + 1);
    });
}

}  // namespace

bool only_prints_in_values(const ShellCommand& command) {
    return all_only_print(command.words, 0);
}

bool reads_no_variables(const ShellCommand& command) {
    if (!only_prints_in_values(command)) return false;
    const Words& words = command.words;
    std::size_t first = first_word(words);
    while (first < words.size() && precedes_command(words[first])) ++first;
    if (first == words.size()) return true;
    const auto rest = std::span(words).subspan(first);
    if (file_name(rest.front()) == "srun") return is_harmless_step(rest);
    return command_only_prints(rest) ||
           (is_known_place(rest.front()) && (starts_nothing(rest) || activates(rest)));
}

}  // namespace distgpu
