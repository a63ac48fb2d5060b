#include "mapping/frameworks/started_commands.h"

#include "base/file_name.h"
#include "base/word_list.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;
using Arguments = std::span<const std::string>;

// More than anyone writes, and a text of a user's ends.
constexpr int most_nested = 8;

// A program that starts the command behind its own words. Options that are in neither list have no
// value, or have it behind '='.
struct Wrapper {
    std::string_view name;
    std::string_view letters{};      // of short options with a value
    std::string_view options{};      // long ones with a value, between blanks
    std::string_view subcommands{};  // one of which stands first, between blanks; empty: none does
    std::size_t own_words = 0;       // before the command: a duration, an image
    bool assigns = false;            // NAME=VALUE may stand before the command
    bool is_pythons = false;         // -m MODULE and FILE.py are for Python
    bool all_have_values = false;    // its options
};

// From the manuals of coreutils 9.4, util-linux 2.39, numactl 2.0, Nsight Systems 2025, Nsight
// Compute 2025, conda 25, uv 0.9, Apptainer 1.4, strace 6.8 and hwloc 2.12.
constexpr std::array wrappers{
    Wrapper{.name = "timeout", .letters = "ks", .options = "--kill-after --signal", .own_words = 1},
    Wrapper{.name = "env", .letters = "uC", .options = "--unset --chdir", .assigns = true},
    Wrapper{.name = "nice", .letters = "n", .options = "--adjustment"},
    Wrapper{.name = "ionice", .letters = "cn", .options = "--class --classdata"},
    Wrapper{.name = "chrt", .letters = "TPD", .own_words = 1},
    Wrapper{.name = "numactl",
            .letters = "iNmCpPw",
            .options = "--interleave --cpunodebind --membind --physcpubind --preferred "
                       "--preferred-many --localalloc-nodes --weighted-interleave"},
    Wrapper{.name = "taskset", .own_words = 1},
    Wrapper{.name = "hwloc-bind", .options = "--membind --mempolicy", .own_words = 1},
    Wrapper{.name = "time", .letters = "of", .options = "--format --output"},
    Wrapper{.name = "stdbuf", .letters = "ioe", .options = "--input --output --error"},
    Wrapper{.name = "nohup"},
    Wrapper{.name = "setsid"},
    Wrapper{.name = "unbuffer"},
    Wrapper{.name = "catchsegv"},
    Wrapper{.name = "prlimit"},
    Wrapper{.name = "tini", .letters = "pe"},
    Wrapper{.name = "dumb-init", .letters = "r", .options = "--rewrite"},
    Wrapper{.name = "strace",
            .letters = "eopsuEaIOPSXbU",
            .options = "--trace --output --attach --string-limit --user --env"},
    Wrapper{.name = "ltrace", .letters = "eopsuanlxFA"},
    Wrapper{.name = "valgrind"},
    Wrapper{.name = "compute-sanitizer", .options = "--tool --log-file --save --kernel-name"},
    Wrapper{.name = "perf",
            .letters = "eFopCcmGtuDj",
            .options = "--event --freq --output --call-graph --count",
            .subcommands = "record stat"},
    Wrapper{.name = "py-spy",
            .letters = "odrf",
            .options = "--output --duration --rate --format",
            .subcommands = "record"},
    Wrapper{.name = "nsys", .subcommands = "profile launch", .all_have_values = true},
    Wrapper{.name = "ncu",
            .letters = "okcsi",
            .options =
                "--export --kernel-name --launch-count --launch-skip --set --section "
                "--metrics --target-processes --log-file --mode --replay-mode --page "
                "--clock-control --cache-control --nvtx-include --nvtx-exclude --graph-profiling"},
    Wrapper{
        .name = "conda", .letters = "np", .options = "--name --prefix --cwd", .subcommands = "run"},
    Wrapper{
        .name = "mamba", .letters = "np", .options = "--name --prefix --cwd", .subcommands = "run"},
    Wrapper{.name = "micromamba",
            .letters = "npre",
            .options = "--name --prefix --root-prefix --cwd --env",
            .subcommands = "run"},
    Wrapper{.name = "uv",
            .letters = "pwCfi",
            .options = "--python --with --with-requirements --with-editable --extra --group "
                       "--only-group --no-group --no-extra --project --directory --env-file "
                       "--package --index --default-index --index-url --extra-index-url "
                       "--find-links --cache-dir --config-file --color --link-mode "
                       "--refresh-package --python-platform",
            .subcommands = "run",
            .is_pythons = true},
    Wrapper{.name = "poetry",
            .letters = "CP",
            .options = "--directory --project",
            .subcommands = "run"},
    Wrapper{.name = "pipenv", .subcommands = "run"},
    Wrapper{.name = "pdm", .letters = "p", .options = "--project --venv", .subcommands = "run"},
    Wrapper{.name = "pixi",
            .letters = "e",
            .options = "--environment --manifest-path",
            .subcommands = "run"},
    Wrapper{.name = "apptainer",
            .letters = "BHWSo",
            .options = "--bind --home --workdir --scratch --overlay --env --env-file --pwd --cwd "
                       "--mount --cpus --memory --network --security --fusemount",
            .subcommands = "exec",
            .own_words = 1},
    Wrapper{.name = "singularity",
            .letters = "BHWSo",
            .options = "--bind --home --workdir --scratch --overlay --env --env-file --pwd --mount "
                       "--network --security --fusemount",
            .subcommands = "exec",
            .own_words = 1},
};

// "NAME=VALUE"
bool is_assignment(std::string_view word) {
    const std::size_t equals = word.find('=');
    constexpr std::string_view of_names =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return equals != std::string_view::npos && equals > 0 &&
           word.substr(0, equals).find_first_not_of(of_names) == std::string_view::npos;
}

// Whether the value of the option stands in the next word.
bool takes_next_word(const Wrapper& wrapper, std::string_view option) {
    if (option.starts_with("--")) {
        return option.find('=') == std::string_view::npos &&
               (wrapper.all_have_values || has_word(wrapper.options, option));
    }
    if (wrapper.all_have_values) return option.size() == 2;
    const std::size_t letter = option.find_first_of(wrapper.letters, 1);
    return letter != std::string_view::npos && letter + 1 == option.size();
}

Words words_from(Arguments line, std::size_t at) {
    return {line.begin() + static_cast<std::ptrdiff_t>(at), line.end()};
}

Words for_python(Words words) {
    words.insert(words.begin(), "python");
    return words;
}

// Behind the wrapper's name and subcommand. Nothing: it has none that starts a command.
std::optional<std::size_t> first_own_word(const Wrapper& wrapper, Arguments line) {
    std::size_t at = 1;
    if (wrapper.subcommands.empty()) return at;
    while (at < line.size() && line[at].starts_with('-')) ++at;
    if (at == line.size() || !has_word(wrapper.subcommands, line[at])) return std::nullopt;
    return at + 1;
}

bool names_module(const Wrapper& wrapper, std::string_view option) {
    return wrapper.is_pythons && (option == "-m" || option == "--module");
}

// What stands behind the wrapper's own words; nothing: no command does.
Words behind(const Wrapper& wrapper, Arguments line) {
    bool options_end = false;
    std::size_t own_words = wrapper.own_words;
    for (std::size_t at = first_own_word(wrapper, line).value_or(line.size()); at < line.size();
         ++at) {
        const std::string_view word = line[at];
        if (word == "--") {
            options_end = true;
        } else if (!options_end && word.size() > 1 && word.front() == '-') {
            if (names_module(wrapper, word)) return for_python(words_from(line, at));
            if (takes_next_word(wrapper, word)) ++at;
        } else if (own_words > 0) {
            --own_words;
            options_end = true;
        } else if (!wrapper.assigns || !is_assignment(word)) {
            Words words = words_from(line, at);
            const bool is_file = wrapper.is_pythons && word.ends_with(".py");
            return is_file ? for_python(std::move(words)) : words;
        }
    }
    return {};
}

bool is_shell(std::string_view name) {
    return has_word("sh bash dash zsh ksh", name);
}

// The text behind -c. Nothing: the shell runs a script, or what it is told.
std::optional<std::string> text_of_shell(Arguments line) {
    bool has_text = false;
    for (std::size_t at = 1; at < line.size(); ++at) {
        const std::string_view word = line[at];
        const bool is_option = word.size() > 1 && (word.front() == '-' || word.front() == '+');
        if (!is_option) return has_text ? std::optional(line[at]) : std::nullopt;
        if (word.starts_with("--")) {
            if (word == "--rcfile" || word == "--init-file") ++at;
            continue;
        }
        has_text = has_text || (word.front() == '-' && word.find('c') != std::string_view::npos);
        if (word.back() == 'o' || word.back() == 'O') ++at;
    }
    return std::nullopt;
}

// Takes the simple commands of a shell's text apart. It gives up where more than their order says
// what runs.
class ShellText {
  public:
    explicit ShellText(std::string_view text) : text_(text) {}

    std::vector<UnwrappedCommand> read() && {
        while (at_ < text_.size() && !unclear_) next();
        end_command(true);
        if (unclear_) return {};
        return std::move(commands_);
    }

  private:
    char character() const { return text_[at_]; }
    bool is_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }

    void next() {
        constexpr std::string_view separators = ";\n&|";
        if (character() == '<' || character() == '>' || is_at("&>")) {
            skip_redirection();
        } else if (separators.find(character()) != std::string_view::npos) {
            separate();
        } else if (character() == ' ' || character() == '\t' || character() == '\r') {
            end_word();
            ++at_;
        } else if (character() == '#' && !in_word_) {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (character() == '(' || character() == ')') {
            unclear_ = true;
        } else {
            take_part();
        }
    }

    void separate() {
        const bool is_double = is_at("&&") || is_at("||");
        const bool other_way = character() == '|';
        const bool on_success = is_at("&&");
        at_ += is_double ? 2 : 1;
        end_command(!other_way && !(on_success && begins_with_test()));
    }

    bool begins_with_test() {
        end_word();
        return !words_.empty() && has_word("[ [[ test grep ! false", words_.front());
    }

    // A part of a word: quoted, replaced by the shell, or a character.
    void take_part() {
        in_word_ = true;
        if (character() == '\'') {
            take_to('\'', false);
        } else if (character() == '"') {
            take_to('"', true);
        } else if (character() == '`') {
            word_ += '$';
            take_to('`', false);
        } else if (is_at("$(")) {
            take_substitution();
        } else if (character() == '\\') {
            if (++at_ == text_.size()) return;
            if (character() == '\n') {
                in_word_ = !word_.empty();
            } else {
                word_ += character();
            }
            ++at_;
        } else {
            word_ += text_[at_++];
        }
    }

    void take_to(char quote, bool with_backslash) {
        for (++at_; at_ < text_.size() && character() != quote; ++at_) {
            if (with_backslash && character() == '\\' && at_ + 1 < text_.size()) ++at_;
            word_ += character();
        }
        if (at_ == text_.size()) unclear_ = true;
        ++at_;
    }

    void take_substitution() {
        int depth = 0;
        do {
            if (character() == '(') ++depth;
            if (character() == ')') --depth;
            word_ += text_[at_++];
        } while (at_ < text_.size() && (depth > 0 || is_at("(")));
        if (depth > 0) unclear_ = true;
    }

    // "2>&1", "> log": neither it nor its file is a word of the command.
    void skip_redirection() {
        if (is_at("<<")) {
            unclear_ = true;
            return;
        }
        if (word_.find_first_not_of("0123456789&") == std::string::npos) {
            word_.clear();
            in_word_ = false;
        }
        end_word();
        at_ = std::min(text_.find_first_not_of("<>&|", at_), text_.size());
        at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
        if (is_at("(")) unclear_ = true;
        at_ = std::min(text_.find_first_of(" \t\n;|&<>", at_), text_.size());
    }

    void end_word() {
        if (in_word_) words_.push_back(std::move(word_));
        word_.clear();
        in_word_ = false;
    }

    void end_command(bool next_is_certain) {
        end_word();
        if (!words_.empty()) {
            constexpr std::string_view reserved =
                "if then elif else fi for while until do done case esac select function { } ! [[";
            if (has_word(reserved, words_.front())) unclear_ = true;
            commands_.push_back({std::move(words_), certain_});
        }
        words_.clear();
        certain_ = next_is_certain;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string word_;
    bool in_word_ = false;
    Words words_;
    bool certain_ = true;
    bool unclear_ = false;
    std::vector<UnwrappedCommand> commands_;
};

// In a shell's text other words may stand before a command.
Words without_shells_prefix(Words words) {
    const auto first = std::find_if(words.begin(), words.end(), [](const std::string& word) {
        return !is_assignment(word) && !has_word("exec command builtin", word);
    });
    words.erase(words.begin(), first);
    return words;
}

std::vector<UnwrappedCommand> started(Arguments line, int nested) {
    Words words = behind_wrappers(line);
    if (words.empty()) return {};
    const bool starts_shell = is_shell(file_name(words.front())) && nested < most_nested;
    const auto text = starts_shell ? text_of_shell(words) : std::nullopt;
    std::vector<UnwrappedCommand> all;
    for (UnwrappedCommand& command : ShellText(text.value_or("")).read()) {
        const Words inner = without_shells_prefix(std::move(command.words));
        for (UnwrappedCommand& found : started(inner, nested + 1)) {
            all.push_back({std::move(found.words), command.certain && found.certain});
        }
    }
    if (all.empty()) all.push_back({std::move(words)});
    return all;
}

}  // namespace

std::vector<std::string> behind_wrappers(std::span<const std::string> line) {
    Words words = words_from(line, 0);
    for (int nested = 0; nested < most_nested && !words.empty(); ++nested) {
        const std::string_view name = file_name(words.front());
        const auto wrapper =
            std::find_if(wrappers.begin(), wrappers.end(),
                         [name](const Wrapper& known) { return known.name == name; });
        if (wrapper == wrappers.end()) return words;
        words = behind(*wrapper, words);
    }
    return {};
}

std::vector<UnwrappedCommand> started_commands(std::span<const std::string> line) {
    return started(line, 0);
}

}  // namespace distgpu
