#include "convert/harmless.h"

#include "base/file_name.h"
#include "convert/assignments.h"
#include "slurm/slurm_options.h"

#include <algorithm>
#include <array>
#include <cctype>
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

// Whether a word is one of the long options, perhaps with a value; getopt_long takes any beginning.
template <std::size_t count>
bool has_long_option(std::span<const std::string> words,
                     const std::array<std::string_view, count>& options) {
    return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
        const std::string_view name = word.substr(0, word.find('='));
        return name.size() > 2 &&
               std::any_of(options.begin(), options.end(),
                           [&](std::string_view option) { return option.starts_with(name); });
    });
}

bool has_letter(std::string_view letters, std::string_view wanted) {
    return !letters.starts_with("--") && letters.find_first_of(wanted) != std::string_view::npos;
}

// Whether an option names another program, or a file that may name some.
bool starts_by_option(std::span<const std::string> words) {
    const std::string_view program = file_name(words.front());
    const auto rest = words.subspan(1);
    const auto has_short = [&](std::string_view wanted) {
        return std::any_of(rest.begin(), rest.end(), [&](std::string_view word) {
            return word.starts_with('-') && has_letter(word, wanted);
        });
    };
    if (program == "tar") {
        static constexpr std::array<std::string_view, 6> options{
            "--to-command",  "--checkpoint-action", "--use-compress-program",
            "--info-script", "--new-volume-script", "--rsh-command"};
        const bool has_letters = !rest.empty() && has_letter(rest.front(), "IF");  // tar xIf
        return has_letters || has_short("IF") || has_long_option(rest, options);
    }
    if (program == "rsync") {
        static constexpr std::array<std::string_view, 1> options{"--rsh"};
        return has_short("e") || has_long_option(rest, options);
    }
    if (program == "sort") {
        static constexpr std::array<std::string_view, 1> options{"--compress-program"};
        return has_long_option(rest, options);
    }
    return false;
}

// Whether the ( at the place begins arithmetic, as in ((1 + 2)), which ends with two ) side by
// side; those of a subshell within something else stand apart: ((a); b).
bool begins_arithmetic(std::string_view text, std::size_t at) {
    if (text.substr(at, 2) != "((") return false;
    const std::size_t inner = end_of_substitution(text, at + 1);
    return inner < text.size() && text[inner] == ')';
}

std::string joined(std::span<const std::string> words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

// hostname () { ...; } gives the name to anything.
bool defines_function(std::span<const std::string> words) {
    return words.size() > 1 && words[1].find_first_not_of("(){") == std::string::npos &&
           words[1].starts_with('(');
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
    static constexpr std::array<std::string_view, 3> tests{"[[", "[", "test"};
    if (is_among(tests, program) && std::find(words.begin(), words.end(), "-v") != words.end()) {
        return false;  // what follows is a variable's name
    }
    return is_among(names, program) && !starts_by_option(words);
}

bool needs_no_rank(std::span<const std::string> words) {
    static constexpr std::array<std::string_view, 12> names{
        "hostname", "nvidia-smi", "echo", "date",  "true", "mkdir",
        "rm",       "cp",         "ls",   "rsync", "tar",  "sleep"};
    return is_known_place(words.front()) && is_among(names, file_name(words.front())) &&
           !starts_by_option(words);
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

// The shell replaces $NAME before awk sees it, perhaps by more of the script; $NF is awk's.
bool holds_variables(std::string_view script) {
    for (std::size_t at = script.find('$'); at != std::string_view::npos;
         at = script.find('$', at + 1)) {
        const std::string_view rest = script.substr(at + 1);
        const bool is_name = !rest.empty() && (std::isalpha(static_cast<unsigned char>(rest[0])) ||
                                               rest[0] == '_' || rest[0] == '{');
        if (is_name && !rest.starts_with("NF")) return true;
    }
    return false;
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
            const bool is_other_option =
                word.starts_with('-') && !word.starts_with("-F") && !word.starts_with("-v");
            return is_other_option || holds_variables(word) ||
                   std::any_of(doubtful.begin(), doubtful.end(), [&](std::string_view text) {
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
    return !starts_by_option(words);
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
    // Behind : another program of a heterogeneous step begins.
    if (std::ranges::find(words, ":") != words.end()) return std::nullopt;
    return PlainStep{std::move(line.options), words.subspan(line.program)};
}

// A step that has --distgpu, or whose program needs no rank.
bool is_harmless_step(std::span<const std::string> words) {
    const auto step = plain_step(words);
    return step && (step->options.has("distgpu") || needs_no_rank(step->program));
}

bool command_only_prints(std::span<const std::string> words) {
    if (file_name(words.front()) == "srun") {
        const auto step = plain_step(words);
        return step && !step->options.has("output") && !step->options.has("error") &&
               needs_no_rank(step->program) && command_only_prints(step->program);
    }
    return is_known_place(words.front()) && only_prints(file_name(words.front())) &&
           has_harmless_words(words);
}

bool only_prints_in(std::string_view text) {
    const std::vector<ShellCommand> commands = shell_commands(text);
    return std::all_of(commands.begin(), commands.end(), [](const ShellCommand& command) {
        return command_only_prints(command.words) && writes_nothing(command.words);
    });
}

// Each $( is looked at, wherever it stands: no quote or comment around it hides it. More of them
// than this nobody writes.
bool substitutions_only_print(std::string_view text) {
    constexpr std::size_t most = 100;
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const bool is_old = text[at] == '`';
        if (!is_old && (text.substr(at, 2) != "$(" || begins_arithmetic(text, at + 1))) continue;
        if (++count > most) return false;
        const std::size_t begin = at + (is_old ? 1 : 2);
        const std::size_t end = end_of_substitution(text, at);
        if (end <= begin || text[end - 1] != (is_old ? '`' : ')')) return false;
        const std::string_view inner = text.substr(begin, end - 1 - begin);
        if (!only_prints_in(inner)) return false;
        if (!is_old) continue;
        // \` within would begin another one.
        if (inner.ends_with('\\') || !substitutions_only_print(inner)) return false;
        at = end - 1;
    }
    return true;
}

bool only_prints_in_text(std::string_view text) {
    return text.find("<(") == std::string_view::npos && text.find(">(") == std::string_view::npos &&
           substitutions_only_print(text);
}

std::string_view text_of(std::string_view script, const HereDocument& document) {
    return script.substr(document.span.begin, document.span.end - document.span.begin);
}

// Whether one of the words, or a here-document in which the shell replaces them, is so.
template <typename Predicate>
bool any_text(std::string_view script, const ShellCommand& command, Predicate is_so) {
    const auto& documents = command.here_documents;
    return std::any_of(command.words.begin(), command.words.end(), is_so) ||
           std::any_of(documents.begin(), documents.end(), [&](const HereDocument& document) {
               return document.is_replaced && is_so(text_of(script, document));
           });
}

bool continues_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// Whether the word may name a file of /proc with what a process knows, such as its variables.
bool names_processes(std::string_view word) {
    constexpr std::string_view folder = "proc";
    static constexpr std::array<std::string_view, 5> of_machine{"/cpuinfo", "/meminfo", "/loadavg",
                                                                "/stat", "/driver/"};
    for (std::size_t at = word.find(folder); at != std::string_view::npos;
         at = word.find(folder, at + 1)) {
        const std::string_view before = word.substr(0, at);
        const std::string_view behind = word.substr(at + folder.size());
        const std::size_t last = before.find_last_not_of("/.");
        const bool begins_path = last == std::string_view::npos || !continues_name(before[last]);
        const bool is_whole = behind.empty() || !continues_name(behind.front());
        const bool is_folder = before.ends_with('/') || behind.starts_with('/');
        if (!begins_path || !is_whole || !is_folder || before.ends_with('$')) continue;
        if (std::none_of(of_machine.begin(), of_machine.end(),
                         [&](std::string_view file) { return behind.starts_with(file); })) {
            return true;
        }
    }
    return false;
}

// Variables by which programs that start nothing else start one.
bool names_program(std::string_view word) {
    static constexpr std::array<std::string_view, 7> names{
        "RSYNC_RSH=",         "TAR_OPTIONS=",       "SLURM_PROLOG=",    "SLURM_EPILOG=",
        "SLURM_TASK_PROLOG=", "SLURM_TASK_EPILOG=", "SLURM_MULTI_PROG="};
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return word.starts_with(name); });
}

// A here-document without an end may be none, but a shift, as in $[1<<2]: commands would be in it.
bool is_read_whole(const ShellCommand& command) {
    return std::all_of(command.here_documents.begin(), command.here_documents.end(),
                       [](const HereDocument& document) { return document.is_closed; });
}

}  // namespace

bool only_prints_in_values(std::string_view script, const ShellCommand& command) {
    return is_read_whole(command) && !any_text(script, command, [](std::string_view text) {
               return !only_prints_in_text(text);
           });
}

bool names_indirectly(std::string_view script, const ShellCommand& command) {
    return any_text(script, command, [](std::string_view text) {
        return text.find("${!") != std::string_view::npos;
    });
}

bool reads_no_variables(std::string_view script, const ShellCommand& command) {
    if (!only_prints_in_values(script, command) || names_indirectly(script, command)) return false;
    if (any_text(script, command, names_processes)) return false;
    const Words& words = command.words;
    if (std::any_of(words.begin(), words.end(), names_program)) return false;
    std::size_t first = first_word(words);
    while (first < words.size() && precedes_command(words[first])) ++first;
    if (first == words.size()) return true;
    const auto rest = std::span(words).subspan(first);
    if (rest.front().starts_with("((")) {
        const std::string text = joined(rest);
        return begins_arithmetic(text, 0) && end_of_substitution(text, 0) == text.size();
    }
    if (defines_function(rest)) return false;
    if (file_name(rest.front()) == "srun") return is_harmless_step(rest);
    return command_only_prints(rest) ||
           (is_known_place(rest.front()) && (starts_nothing(rest) || activates(rest)));
}

bool exports_all(const ShellCommand& command) {
    const Words& words = command.words;
    const auto set = std::find(words.begin(), words.end(), "set");
    return std::any_of(set, words.end(), [](std::string_view word) {
        return word == "allexport" || (word.starts_with('-') && has_letter(word, "a"));
    });
}

}  // namespace distgpu
