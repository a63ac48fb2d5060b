#include "mapping/frameworks/launchers.h"

#include "mapping/frameworks/service.h"
#include "mapping/frameworks/started_commands.h"

namespace distgpu {
namespace {

bool needs_shell(std::string_view word) {
    return word.find_first_of("$`") != std::string_view::npos;
}

bool is_script(std::string_view word) {
    return word.ends_with(".py") || word.ends_with(".sh");
}

// The option with this name, which may be abbreviated; null if it is unknown or ambiguous.
const LauncherOption* find_option(const LauncherOptions& launcher, std::string_view name) {
    constexpr std::size_t min_length = 4;  // "--nn"
    const bool is_flag = has_word(launcher.flags, name);
    const LauncherOption* found = nullptr;
    for (const LauncherOption& option : launcher.options) {
        const bool by_letter = !is_flag && !option.letter.empty() && !name.starts_with("--") &&
                               name.starts_with(option.letter);
        if (option.name == name || by_letter) return &option;
        const bool may_be_abbreviated =
            !is_flag && launcher.allows_abbreviations && name.size() >= min_length;
        if (!may_be_abbreviated || !option.name.view().starts_with(name)) continue;
        if (found != nullptr) return nullptr;
        found = &option;
    }
    return found;
}

// Parses the option at `at`. If its value is the next word, `at` moves to it. `option` is null if
// the launcher's table lacks the option.
GivenOption read_option(const LauncherOptions& launcher, std::span<const std::string> words,
                        std::size_t& at) {
    const std::string& word = words[at];
    const std::size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    // "--nproc-per-node" of "--nproc_per_node=4"
    if (name.starts_with("--")) std::ranges::replace(name, '_', '-');
    const LauncherOption* const option = find_option(launcher, name);
    if (has_word(launcher.flags, name) ||
        (option != nullptr && option->meaning == OptionMeaning::one_node)) {
        return {option, word, ""};
    }
    const std::size_t letter = option == nullptr ? 0 : option->letter.view().size();
    GivenOption given{option, word, ""};
    if (equals != std::string::npos) {
        given.value = word.substr(equals + 1);
    } else if (letter > 0 && !word.starts_with("--") && word.size() > letter) {  // "-n4"
        given.value = word.substr(letter);
    } else if (at + 1 < words.size() && !is_script(words[at + 1])) {
        given.value = words[++at];
        given.text += ' ' + *given.value;
    }
    if (needs_shell(*given.value)) given.value.reset();
    return given;
}

}  // namespace

const GivenOption* GivenOptions::find(std::string_view name) const {
    const auto last =
        std::find_if(options.rbegin(), options.rend(),
                     [name](const GivenOption& given) { return given.option->name == name; });
    return last == options.rend() ? nullptr : &*last;
}

GivenOptions read_options(const LauncherOptions& launcher, std::span<const std::string> words) {
    GivenOptions given;
    for (std::size_t at = 0; at < words.size(); ++at) {
        const std::string_view word = words[at];
        if (word.size() > 1 && word.front() == '-') {
            GivenOption option = read_option(launcher, words, at);
            if (option.option != nullptr) given.options.push_back(std::move(option));
        } else if (needs_shell(word)) {
            // It may expand to options or to the script.
            given.complete = is_script(word);
            break;
        } else if (!launcher.reads_after_script) {
            break;
        }
    }
    if (launcher.remove_overridden != nullptr) launcher.remove_overridden(given);
    return given;
}

namespace {

using Arguments = std::span<const std::string>;

constexpr std::string_view python = "python";

// A command line in the form of the records.
struct Command {
    // "torchrun", "train.py"; for a Python script the script, for a module "python", "-m", MODULE.
    std::vector<std::string_view> words;
    bool is_python = false;
};

// The result of Python's own options (python(1), 3.14).
struct PythonOptions {
    std::size_t end = 0;  // index of the word after the options
    std::string_view module{};
};

PythonOptions python_options(Arguments arguments) {
    std::size_t at = 1;
    for (; at < arguments.size(); ++at) {
        const std::string_view argument = arguments[at];
        if (argument.size() < 2 || argument.front() != '-') break;
        if (argument == "--check-hash-based-pycs") ++at;
        if (argument.starts_with("--")) continue;
        // A letter with a value is followed by it, or the value is the next word.
        const std::size_t letter = argument.find_first_of("cmWX");
        if (letter == std::string_view::npos) continue;
        std::string_view value = argument.substr(letter + 1);
        if (value.empty() && at + 1 < arguments.size()) value = arguments[++at];
        if (argument[letter] == 'c') return {arguments.size()};
        if (argument[letter] == 'm') return {at + 1, value};
    }
    return {std::min(at, arguments.size())};
}

Command read_command(Arguments arguments) {
    const std::string_view program = file_name(arguments.front());
    const std::string_view version = program.substr(std::min(program.size(), python.size()));
    const bool is_python = program.starts_with(python) &&
                           version.find_first_not_of("0123456789.") == std::string_view::npos;
    Command command{{program}, is_python || program.ends_with(".py")};
    std::size_t rest = 1;
    if (is_python) {
        const PythonOptions options = python_options(arguments);
        rest = options.end;
        if (!options.module.empty()) {
            command.words = {python, "-m", options.module};
        } else if (rest < arguments.size()) {
            command.words = {file_name(arguments[rest++])};
        } else {
            command.words.clear();
        }
    }
    for (const std::string& word : arguments.subspan(rest)) command.words.emplace_back(word);
    return command;
}

// `words`: from a record, separated by blanks.
bool begins_with(const Command& command, std::string_view words) {
    for (const std::string_view word : command.words) {
        if (word != cut_until(words, ' ')) return false;
        if (words.empty()) return true;
    }
    return false;
}

using Launchers = std::span<const Text> Framework::*;

// The launcher that the command starts, as written in the record's `list`; empty if none of them.
std::string_view find_launcher(const Command& command, const Framework& record, Launchers list) {
    for (const std::string_view words : record.*list) {
        if (begins_with(command, words)) return words;
    }
    return {};
}

// A launcher, and the record that lists it.
struct ListedLauncher {
    const Framework* record = nullptr;  // null: no record lists the program
    std::string_view launcher{};
};

ListedLauncher find_record(const Command& command, Launchers list) {
    for (const Framework* framework : frameworks()) {
        if (const auto words = find_launcher(command, *framework, list); !words.empty()) {
            return {framework, words};
        }
        for (const Variant& variant : framework->variants) {
            const auto words = find_launcher(command, *variant.framework, list);
            if (!words.empty()) return {variant.framework, words};
        }
    }
    return {};
}

// For a launcher that starts ranks on all nodes, like srun.
Mismatch replaced_launcher_mismatch(const Framework& mode, const ListedLauncher& found) {
    std::string remedy = formatted("leave {} and its options out", found.launcher);
    std::string_view variant = mode.mode;
    if (cut_until(variant, ',') != found.record->mode) {
        remedy += formatted(" (--distgpu={} gives the tasks what it would)", found.record->mode);
    }
    return {{std::string(found.launcher),
             "it starts ranks itself, but srun starts a task for each, and each task would start "
             "all ranks again",
             remedy + ", or use --distgpu=off"},
            true};
}

// For a launcher that starts the processes of its node, under a mode that is not its own.
Mismatch other_launcher_mismatch(const StepView& step, const ListedLauncher& found) {
    const std::string option = option_of(step.request);
    const std::uint32_t tasks = step.layout.max_tasks_per_node();
    std::string remedy =
        formatted("use --distgpu={} with {}", found.record->mode, contract::one_task_options(step));
    if (found.record->service != nullptr) {
        remedy += formatted(", and distgpu exec -- before {}", found.launcher);
    } else if (!step.request.framework->launcher_per_node) {
        remedy += formatted(", or leave {} out and start the script with python3", found.launcher);
    }
    if (tasks > 1) {
        return {{std::string(found.launcher),
                 formatted("it starts the processes of its node itself, but {} has a task for "
                           "each, here {} on a node",
                           option, tasks),
                 std::move(remedy)},
                true};
    }
    const bool is_one_node = step.layout.node_count() == 1;
    return {{std::string(found.launcher),
             formatted("{} does not set it up, so {}", option,
                       is_one_node ? "it may start a single process" : "each node may train alone"),
             std::move(remedy)}};
}

// For a program that is not a launcher, under a mode that needs one.
Mismatch missing_launcher_mismatch(const StepView& step, Arguments program) {
    const Framework& mode = *step.request.framework;
    std::string remedy = formatted("start the script with {}", mode.launchers.front());
    for (const Framework* framework : frameworks()) {
        for (const Variant& variant : framework->variants) {
            if (variant.key != "per-node" || variant.framework != &mode) continue;
            remedy += formatted(", or use --distgpu={} with a task for each GPU", framework->mode);
        }
    }
    return {
        {excerpt(join(program, " ")),
         formatted("{} leaves the processes to a launcher, so each task trains alone, as rank 0 "
                   "of 1",
                   option_of(step.request)),
         std::move(remedy)}};
}

// Whether the command only prepares a training.
bool is_preparation(const Command& command) {
    if (command.words.empty()) return false;  // Python without a script
    return has_word(
        "cd source . export set unset ulimit umask module ml echo exit printf true date mkdir "
        "sleep "
        "test [ tee ls cat wait env hostname",
        command.words.front());
}

// Whether the commands start only Python scripts, none of which is the mode's launcher.
bool is_only_python(const std::vector<UnwrappedCommand>& commands, const Framework& mode) {
    bool any = false;
    for (const UnwrappedCommand& started : commands) {
        const Command command = read_command(started.words);
        if (is_preparation(command)) continue;
        const bool is_script =
            command.is_python && find_launcher(command, mode, &Framework::launchers).empty();
        if (!is_script || !started.is_unconditional) return false;
        any = true;
    }
    return any;
}

// Whether the command is a launcher, or a Python script or module that may train.
bool may_train(const Command& command) {
    if (find_record(command, &Framework::launchers).record != nullptr) return true;
    if (find_record(command, &Framework::replaced_launchers).record != nullptr) return true;
    if (!command.is_python || command.words.empty()) return false;
    constexpr std::string_view tools =
        "pip venv json.tool http.server site timeit torch.utils.collect_env";
    const bool is_module = command.words.front() == "python" && command.words.size() > 2;
    return !is_module || !has_word(tools, command.words[2]);
}

// For a training behind ssh or the like. nullopt if another command of the step may train: helpers
// may run anywhere.
std::optional<Mismatch> remote_mismatch(const std::vector<UnwrappedCommand>& commands,
                                        const Request& request) {
    const Framework& mode = *request.framework;
    const UnwrappedCommand* training = nullptr;
    for (const UnwrappedCommand& started : commands) {
        const auto remote = remote_commands(started.words);
        if (!remote) {
            if (!is_preparation(read_command(started.words))) return std::nullopt;
            continue;
        }
        // The line may pass the variables on: `ssh n2 env RANK=$RANK ...`.
        const std::string words = join(started.words, " ");
        const bool names_variable = std::ranges::any_of(mode.sets, [&](const SetVariable& set) {
            return words.find(set.name) != std::string::npos;
        });
        if (remote->sends_variables || names_variable) return std::nullopt;
        const bool trains = std::ranges::any_of(remote->commands, [](const UnwrappedCommand& each) {
            return each.is_unconditional && may_train(read_command(each.words));
        });
        if (trains && started.is_unconditional && training == nullptr) training = &started;
    }
    if (training == nullptr) return std::nullopt;
    const std::string_view shell = file_name(training->words.front());
    return Mismatch{
        {excerpt(join(training->words, " ")),
         formatted("{} starts the program outside the step, where it has none of the "
                   "variables of {}",
                   shell, option_of(request)),
         formatted("leave {} out: srun starts the tasks on the nodes of the step itself", shell)}};
}

std::optional<Mismatch> command_mismatch(const StepView& step, const Command& command) {
    const Framework& mode = *step.request.framework;
    if (begins_with(command, "ray start")) {
        return Mismatch{{"ray start",
                         "its workers would get the ranks of the task that starts them",
                         "use --distgpu=ray, which starts Ray itself, or --distgpu=off"}};
    }
    const auto replaced = find_record(command, &Framework::replaced_launchers);
    if (replaced.record != nullptr) return replaced_launcher_mismatch(mode, replaced);
    if (!find_launcher(command, mode, &Framework::launchers).empty()) return std::nullopt;
    const auto other = find_record(command, &Framework::launchers);
    if (other.record != nullptr) return other_launcher_mismatch(step, other);
    return std::nullopt;
}

// The commands of the program. `distgpu exec` may precede a command and follow other programs.
std::vector<UnwrappedCommand> commands_of(const StepView& step) {
    std::vector<UnwrappedCommand> all;
    for (const UnwrappedCommand& outer : started_commands(step.facts.program)) {
        const StartedProgram program = started_program(outer.words);
        if (!program.by_exec) {
            all.push_back(outer);
            continue;
        }
        for (UnwrappedCommand& inner : started_commands(program.words)) {
            all.push_back(
                {std::move(inner.words), inner.is_unconditional && outer.is_unconditional});
        }
    }
    return all;
}

}  // namespace

bool is_launcher(const StepView& step) {
    const std::vector<std::string> program =
        strip_wrappers(started_program(step.facts.program).words);
    if (program.empty()) return false;
    const Framework& mode = *step.request.framework;
    const Command command = read_command(program);
    const bool is_driver = mode.service != nullptr && !mode.service->companion.empty();
    return is_driver ? command.is_python
                     : !find_launcher(command, mode, &Framework::launchers).empty();
}

std::optional<Mismatch> program_mismatch(const StepView& step) {
    const Framework& mode = *step.request.framework;
    const std::vector<UnwrappedCommand> commands = commands_of(step);
    for (const UnwrappedCommand& command : commands) {
        if (!command.is_unconditional) continue;
        if (auto found = command_mismatch(step, read_command(command.words))) return found;
    }
    if (auto found = remote_mismatch(commands, step.request)) return found;
    // A service's program may have any name.
    const bool needs_launcher =
        mode.service == nullptr && !mode.launchers.empty() && !mode.scripts_can_launch;
    if (!needs_launcher || !is_only_python(commands, mode)) return std::nullopt;
    return missing_launcher_mismatch(step, started_program(step.facts.program).words);
}

std::optional<GivenLauncher> given_launcher(const StepView& step) {
    const Framework& mode = *step.request.framework;
    if (mode.launcher_options == nullptr) return std::nullopt;
    for (const UnwrappedCommand& started : commands_of(step)) {
        const Command command = read_command(started.words);
        const std::string_view name = find_launcher(command, mode, &Framework::launchers);
        if (name.empty() || !started.is_unconditional) continue;
        const auto words = static_cast<std::size_t>(std::ranges::count(name, ' ')) + 1;
        const std::vector<std::string> options(
            command.words.begin() + static_cast<std::ptrdiff_t>(words), command.words.end());
        return GivenLauncher{name, read_options(*mode.launcher_options, options)};
    }
    return std::nullopt;
}

bool may_lose_nodes(const StepView& step) {
    const auto launcher = given_launcher(step);
    return launcher && std::ranges::any_of(launcher->options.options, [](const GivenOption& each) {
               std::string_view most = each.text;
               most.remove_prefix(std::min(most.find_first_of("= "), most.size() - 1) + 1);
               const std::string_view least = cut_until(most, ':');
               return each.option->meaning == OptionMeaning::node_range && !most.empty() &&
                      least != most;
           });
}

}  // namespace distgpu
