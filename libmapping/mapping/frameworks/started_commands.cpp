#include "mapping/frameworks/started_commands.h"

#include "base/format.h"
#include "base/shell_words.h"
#include "base/values.h"

#include <array>

namespace distgpu {
namespace {

using Words = std::vector<std::string>;
using Arguments = std::span<const std::string>;

// Deeper than in practice; limits the recursion on a user's text.
constexpr int max_nesting = 8;

// A program that starts the command after its own arguments. Options that are in neither list have
// no value, or have it after '='. Lists are separated by blanks.
struct Wrapper {
    Literal<56> names;
    Literal<24> letters{};         // of short options with a value
    Literal<320> options{};        // long options with a value
    Literal<24> subcommands{};     // one of which comes first; empty if it has none
    std::size_t operands = 0;      // before the command: a duration, an image, a host
    bool has_assignments = false;  // NAME=VALUE may precede the command
    bool runs_python = false;      // passes -m MODULE and FILE.py to Python
    bool all_options_have_values = false;
    bool is_remote = false;  // joins the command for the shell of another node; options may follow
                             // the operands
};

// From the manuals of coreutils 9.4, util-linux 2.39, numactl 2.0, Nsight Systems 2025, Nsight
// Compute 2025, conda 25, uv 0.9, Apptainer 1.4, strace 6.8, hwloc 2.12, OpenSSH 9.6, rsh-client
// 0.17, pdsh 2.34, ClusterShell 1.9 and pssh 2.3.
constexpr auto wrappers = std::to_array<Wrapper>({
    {"timeout", "ks", "--kill-after --signal", "", 1},
    {.names = "env", .letters = "uC", .options = "--unset --chdir", .has_assignments = true},
    {"nice", "n", "--adjustment"},
    {"ionice", "cn", "--class --classdata"},
    {"chrt", "TPD", "", "", 1},
    {"numactl", "iNmCpPw",
     "--interleave --cpunodebind --membind --physcpubind --preferred --preferred-many "
     "--localalloc-nodes --weighted-interleave"},
    {"taskset", "", "", "", 1},
    {"hwloc-bind", "", "--membind --mempolicy", "", 1},
    {"time", "of", "--format --output"},
    {"stdbuf", "ioe", "--input --output --error"},
    {"nohup setsid unbuffer catchsegv prlimit valgrind"},
    {"tini", "pe"},
    {"dumb-init", "r", "--rewrite"},
    {"strace", "eopsuEaIOPSXbU", "--trace --output --attach --string-limit --user --env"},
    {"ltrace", "eopsuanlxFA"},
    {"compute-sanitizer", "", "--tool --log-file --save --kernel-name"},
    {"perf", "eFopCcmGtuDj", "--event --freq --output --call-graph --count", "record stat"},
    {"py-spy", "odrf", "--output --duration --rate --format", "record"},
    {.names = "nsys", .subcommands = "profile launch", .all_options_have_values = true},
    {"ncu", "okcsi",
     "--export --kernel-name --launch-count --launch-skip --set --section --metrics "
     "--target-processes --log-file --mode --replay-mode --page --clock-control --cache-control "
     "--nvtx-include --nvtx-exclude --graph-profiling"},
    {"conda mamba micromamba", "npre", "--name --prefix --root-prefix --cwd --env", "run"},
    {.names = "uv",
     .letters = "pwCfi",
     .options = "--python --with --with-requirements --with-editable --extra --group --only-group "
                "--no-group --no-extra --project --directory --env-file --package --index "
                "--default-index --index-url --extra-index-url --find-links --cache-dir "
                "--config-file --color --link-mode --refresh-package --python-platform",
     .subcommands = "run",
     .runs_python = true},
    {"poetry", "CP", "--directory --project", "run"},
    {"pipenv", "", "", "run"},
    {"pdm", "p", "--project --venv", "run"},
    {"pixi", "e", "--environment --manifest-path", "run"},
    {"apptainer singularity", "BHWSo",
     "--bind --home --workdir --scratch --overlay --env --env-file --pwd --cwd --mount --cpus "
     "--memory --network --security --fusemount",
     "exec", 1},
    {.names = "ssh", .letters = "BbcDEeFIiJLlmOoPpQRSWw", .operands = 1, .is_remote = true},
    {.names = "rsh", .letters = "l", .operands = 1, .is_remote = true},
    {.names = "pdsh", .letters = "wxtuflRMgXPjFC", .is_remote = true},
    {.names = "clush",
     .letters = "wxgXlftumoROEs",
     .options = "--hostfile --group --exgroup --fanout --user --mode --worker --option --engine "
                "--groupsource --topology --outdir --errdir --pick",
     .is_remote = true},
    {.names = "pssh parallel-ssh",
     .letters = "HhlpoetOxX",
     .options = "--host --hosts --user --par --outdir --errdir --timeout --option",
     .is_remote = true},
});

const Wrapper* find_wrapper(std::string_view program, bool is_remote) {
    const auto at = std::ranges::find_if(wrappers, [&](const Wrapper& known) {
        return known.is_remote == is_remote && has_word(known.names, file_name(program));
    });
    return at == wrappers.end() ? nullptr : &*at;
}

// "NAME=VALUE"
bool is_assignment(std::string_view word) {
    const std::size_t equals = word.find('=');
    constexpr std::string_view name_characters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return equals != std::string_view::npos && equals > 0 &&
           word.substr(0, equals).find_first_not_of(name_characters) == std::string_view::npos;
}

// Whether the value of the option is the next word.
bool uses_next_word(const Wrapper& wrapper, std::string_view option) {
    if (option.starts_with("--")) {
        return option.find('=') == std::string_view::npos &&
               (wrapper.all_options_have_values || has_word(wrapper.options, option));
    }
    if (wrapper.all_options_have_values) return option.size() == 2;
    const std::size_t letter = option.find_first_of(wrapper.letters, 1);
    return letter != std::string_view::npos && letter + 1 == option.size();
}

bool is_module_option(std::string_view option) {
    return option == "-m" || option == "--module";
}

// The index of the command after the wrapper's own arguments; line.size() if it starts none.
std::size_t find_command(const Wrapper& wrapper, Arguments line) {
    std::size_t at = 1;
    if (!wrapper.subcommands.empty()) {
        while (at < line.size() && line[at].starts_with('-')) ++at;
        if (at == line.size() || !has_word(wrapper.subcommands, line[at++])) return line.size();
    }
    bool options_end = false;
    std::size_t operands_left = wrapper.operands;
    for (; at < line.size(); ++at) {
        const std::string_view word = line[at];
        if (word == "--") {
            options_end = true;
        } else if (!options_end && word.size() > 1 && word.front() == '-') {
            if (wrapper.runs_python && is_module_option(word)) return at;
            if (uses_next_word(wrapper, word)) ++at;
        } else if (operands_left > 0) {
            --operands_left;
            options_end = options_end || !wrapper.is_remote;
        } else if (!wrapper.has_assignments || !is_assignment(word)) {
            return at;
        }
    }
    return line.size();
}

// The text after -c; nullopt if the shell runs a script or standard input.
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

// The commands of a shell's text; empty if it has control structures that decide what runs.
std::vector<UnwrappedCommand> commands_of(std::string_view text) {
    constexpr std::string_view reserved =
        "if then elif else fi for while until do done case esac select function { } ! [[";
    ShellText read = read_shell_text(text, Redirections::dropped);
    std::vector<UnwrappedCommand> commands;
    bool is_unconditional = true;
    for (ShellCommand& command : read.commands) {
        const std::string& first = command.words.front();
        if (!read.is_simple || has_word(reserved, first)) return {};
        const bool is_test = has_word("[ test grep false", first);
        commands.push_back({std::move(command.words), is_unconditional});
        is_unconditional = !command.end.starts_with('|') && !(is_test && command.end == "&&");
    }
    return commands;
}

std::vector<UnwrappedCommand> unwrap(Arguments line, int nesting) {
    Words words = strip_wrappers(line);
    if (words.empty()) return {};
    const bool starts_shell =
        has_word("sh bash dash zsh ksh", file_name(words.front())) && nesting < max_nesting;
    const auto text = starts_shell ? text_of_shell(words) : std::nullopt;
    std::vector<UnwrappedCommand> all;
    for (const UnwrappedCommand& command : commands_of(text.value_or(""))) {
        // In a shell's text, assignments and `exec` may precede a command.
        const auto first = std::ranges::find_if(command.words, [](const std::string& word) {
            return !is_assignment(word) && !has_word("exec command builtin", word);
        });
        for (UnwrappedCommand& found : unwrap({first, command.words.end()}, nesting + 1)) {
            all.push_back(
                {std::move(found.words), command.is_unconditional && found.is_unconditional});
        }
    }
    if (all.empty()) all.push_back({std::move(words)});
    return all;
}

}  // namespace

std::vector<std::string> strip_wrappers(std::span<const std::string> line) {
    Words words(line.begin(), line.end());
    for (int nesting = 0; nesting < max_nesting && !words.empty(); ++nesting) {
        const Wrapper* const wrapper = find_wrapper(words.front(), false);
        if (wrapper == nullptr) return words;
        words.erase(words.begin(),
                    words.begin() + static_cast<std::ptrdiff_t>(find_command(*wrapper, words)));
        const bool for_python = wrapper->runs_python && !words.empty() &&
                                (is_module_option(words.front()) || words.front().ends_with(".py"));
        if (for_python) words.insert(words.begin(), "python");
    }
    return {};
}

std::vector<UnwrappedCommand> started_commands(std::span<const std::string> line) {
    return unwrap(line, 0);
}

std::optional<RemoteCommands> remote_commands(std::span<const std::string> line) {
    const Wrapper* const shell = line.empty() ? nullptr : find_wrapper(line.front(), true);
    if (shell == nullptr) return std::nullopt;
    const std::size_t command = find_command(*shell, line);
    RemoteCommands remote;
    for (const std::string& word : line.first(command)) {
        remote.sends_variables = remote.sends_variables ||
                                 word.find("SendEnv") != std::string::npos ||
                                 word.find("SetEnv") != std::string::npos;
    }
    if (command == line.size()) return remote;
    const std::array<std::string, 3> shell_line{"sh", "-c", join(line.subspan(command), " ")};
    remote.commands = started_commands(shell_line);
    return remote;
}

}  // namespace distgpu
