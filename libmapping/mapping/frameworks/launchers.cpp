#include "mapping/frameworks/launchers.h"

#include "mapping/frameworks/serving.h"
#include "mapping/frameworks/started_commands.h"

namespace distgpu {
namespace {

bool is_for_a_shell(std::string_view word) {
    return word.find_first_of("$`") != std::string_view::npos;
}

bool is_script(std::string_view word) {
    return word.ends_with(".py") || word.ends_with(".sh");
}

// The option that a word names; null: none, or it may be either of two.
const LauncherOption* find_option(const LauncherOptions& launcher, std::string_view name) {
    constexpr std::size_t shortest = 4;  // "--nn"
    const bool is_flag = has_word(launcher.flags, name);
    const LauncherOption* found = nullptr;
    for (const LauncherOption& option : launcher.options) {
        const bool by_letter = !is_flag && !option.letter.empty() && !name.starts_with("--") &&
                               name.starts_with(option.letter);
        if (option.name == name || by_letter) return &option;
        const bool may_be_cut = !is_flag && launcher.abbreviated && name.size() >= shortest;
        if (!may_be_cut || !option.name.starts_with(name)) continue;
        if (found != nullptr) return nullptr;
        found = &option;
    }
    return found;
}

// The option at this place, and its value, which may be the next word. `option` is null where the
// launcher's table lacks it.
GivenOption option_at(const LauncherOptions& launcher, std::span<const std::string> words,
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
    const std::size_t letter = option == nullptr ? 0 : option->letter.size();
    GivenOption given{option, word, ""};
    if (equals != std::string::npos) {
        given.value = word.substr(equals + 1);
    } else if (letter > 0 && !word.starts_with("--") && word.size() > letter) {  // "-n4"
        given.value = word.substr(letter);
    } else if (at + 1 < words.size() && !is_script(words[at + 1])) {
        given.value = words[++at];
        given.text += ' ' + *given.value;
    }
    if (is_for_a_shell(*given.value)) given.value.reset();
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
            GivenOption option = option_at(launcher, words, at);
            if (option.option != nullptr) given.options.push_back(std::move(option));
        } else if (is_for_a_shell(word)) {
            // Options, or the script.
            given.complete = is_script(word);
            break;
        } else if (!launcher.behind_the_script) {
            break;
        }
    }
    if (launcher.settle != nullptr) launcher.settle(given);
    return given;
}

namespace {

using Arguments = std::span<const std::string>;

constexpr std::string_view python = "python";

// A command line as the records write one.
struct Command {
    // "torchrun", "train.py"; of a script of Python's the script, of a module "python", "-m" and
    // it.
    std::vector<std::string_view> words;
    bool is_pythons = false;
};

// What Python's own options come to: a module, or where the program begins (python(1), 3.14).
struct PythonOptions {
    std::size_t end = 0;
    std::string_view module{};
};

PythonOptions python_options(Arguments arguments) {
    std::size_t at = 1;
    for (; at < arguments.size(); ++at) {
        const std::string_view argument = arguments[at];
        if (argument.size() < 2 || argument.front() != '-') break;
        if (argument == "--check-hash-based-pycs") ++at;
        if (argument.starts_with("--")) continue;
        // Letters that take a value end the word with it, or have it in the next one.
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

// `words`: as a record writes them.
bool begins_with(const Command& command, std::string_view words) {
    for (const std::string_view word : command.words) {
        if (word != take_until(words, ' ')) return false;
        if (words.empty()) return true;
    }
    return false;
}

using Launchers = std::span<const std::string_view> Framework::*;

// The launcher, as a record's `list` writes it; empty: it is none of them.
std::string_view launcher(const Command& command, const Framework& record, Launchers list) {
    for (const std::string_view words : record.*list) {
        if (begins_with(command, words)) return words;
    }
    return {};
}

struct Owner {
    const Framework* record = nullptr;  // null: no record lists the program
    std::string_view launcher{};
};

Owner owner(const Command& command, Launchers list) {
    for (const Framework* framework : frameworks()) {
        if (const auto words = launcher(command, *framework, list); !words.empty()) {
            return {framework, words};
        }
        for (const Variant& variant : framework->variants) {
            const auto words = launcher(command, *variant.framework, list);
            if (!words.empty()) return {variant.framework, words};
        }
    }
    return {};
}

// One that starts ranks on all nodes, in a step that has them already.
Misfit second_srun(const Framework& mode, const Owner& found) {
    std::string remedy = formatted("leave {} and its options out", found.launcher);
    if (mode.mode.substr(0, mode.mode.find(',')) != found.record->mode) {
        remedy += formatted(" (--distgpu={} gives the tasks what it would)", found.record->mode);
    }
    return {{std::string(found.launcher),
             "it starts ranks itself, but srun starts a task for each, and each task would start "
             "all ranks again",
             remedy + ", or use --distgpu=off"},
            true};
}

// One that starts the processes of its node, under another mode than its own.
Misfit other_launcher(const StepView& step, const Owner& found) {
    const std::string option = option_of(step.request);
    const std::uint32_t tasks = step.layout.max_tasks_per_node();
    std::string remedy =
        formatted("use --distgpu={} with {}", found.record->mode, contract::one_task_each(step));
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
    const bool alone = step.layout.node_count() == 1;
    return {{std::string(found.launcher),
             formatted("{} does not set it up, so {}", option,
                       alone ? "it may start a single process" : "each node may train alone"),
             std::move(remedy)}};
}

// A mode whose tasks are launchers, and a program that is none.
Misfit no_launcher(const StepView& step, Arguments program) {
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

// What prepares a program, and starts none itself.
bool is_preparation(const Command& command) {
    if (command.words.empty()) return false;  // Python without a script
    return has_word(
        "cd source . export set unset ulimit umask module ml echo exit printf true date mkdir "
        "sleep "
        "test [ tee ls cat wait env hostname",
        command.words.front());
}

// Nothing but scripts of Python's are started, none of which is the mode's launcher.
bool is_python_alone(const std::vector<UnwrappedCommand>& commands, const Framework& mode) {
    bool any = false;
    for (const UnwrappedCommand& started : commands) {
        const Command command = read_command(started.words);
        if (is_preparation(command)) continue;
        const bool is_script =
            command.is_pythons && launcher(command, mode, &Framework::launchers).empty();
        if (!is_script || !started.certain) return false;
        any = true;
    }
    return any;
}

// A script or module of Python's or a launcher, which may train.
bool may_train(const Command& command) {
    if (owner(command, &Framework::launchers).record != nullptr) return true;
    if (owner(command, &Framework::replaces).record != nullptr) return true;
    if (!command.is_pythons || command.words.empty()) return false;
    constexpr std::string_view tools =
        "pip venv json.tool http.server site timeit torch.utils.collect_env";
    const bool is_module = command.words.front() == "python" && command.words.size() > 2;
    return !is_module || !has_word(tools, command.words[2]);
}

// ssh and its like, where nothing else of the step trains: a helper may run anywhere.
std::optional<Misfit> remote_misfit(const std::vector<UnwrappedCommand>& commands,
                                    const Request& request) {
    const Framework& mode = *request.framework;
    const UnwrappedCommand* training = nullptr;
    for (const UnwrappedCommand& started : commands) {
        const auto remote = remote_commands(started.words);
        if (!remote) {
            if (!is_preparation(read_command(started.words))) return std::nullopt;
            continue;
        }
        // As in `ssh n2 env RANK=$RANK ...`.
        const std::string words = join(started.words, " ");
        const bool mentions = std::ranges::any_of(mode.sets, [&](const SetVariable& set) {
            return words.find(set.name) != std::string::npos;
        });
        if (remote->sends_variables || mentions) return std::nullopt;
        const bool trains = std::ranges::any_of(remote->commands, [](const UnwrappedCommand& each) {
            return each.certain && may_train(read_command(each.words));
        });
        if (trains && started.certain && training == nullptr) training = &started;
    }
    if (training == nullptr) return std::nullopt;
    const std::string_view shell = file_name(training->words.front());
    return Misfit{
        {excerpt(join(training->words, " ")),
         formatted("{} starts the program outside the step, where it has none of the "
                   "variables of {}",
                   shell, option_of(request)),
         formatted("leave {} out: srun starts the tasks on the nodes of the step itself", shell)}};
}

std::optional<Misfit> command_misfit(const StepView& step, const Command& command) {
    const Framework& mode = *step.request.framework;
    if (begins_with(command, "ray start")) {
        return Misfit{{"ray start", "its workers would take the ranks of the task that starts them",
                       "use --distgpu=ray, which starts Ray itself, or --distgpu=off"}};
    }
    if (const Owner found = owner(command, &Framework::replaces); found.record != nullptr) {
        return second_srun(mode, found);
    }
    if (!launcher(command, mode, &Framework::launchers).empty()) return std::nullopt;
    if (const Owner found = owner(command, &Framework::launchers); found.record != nullptr) {
        return other_launcher(step, found);
    }
    return std::nullopt;
}

// `distgpu exec` may stand before the command and behind other programs.
std::vector<UnwrappedCommand> commands_of(const StepView& step) {
    std::vector<UnwrappedCommand> all;
    for (const UnwrappedCommand& outer : started_commands(step.facts.program)) {
        const StartedProgram program = started_program(outer.words);
        if (!program.by_exec) {
            all.push_back(outer);
            continue;
        }
        for (UnwrappedCommand& inner : started_commands(program.words)) {
            all.push_back({std::move(inner.words), inner.certain && outer.certain});
        }
    }
    return all;
}

}  // namespace

bool is_launcher(const StepView& step) {
    const std::vector<std::string> program =
        behind_wrappers(started_program(step.facts.program).words);
    if (program.empty()) return false;
    const Framework& mode = *step.request.framework;
    const Command command = read_command(program);
    const bool is_driver = mode.service != nullptr && !mode.service->companion.empty();
    return is_driver ? command.is_pythons : !launcher(command, mode, &Framework::launchers).empty();
}

std::optional<Misfit> program_misfit(const StepView& step) {
    const Framework& mode = *step.request.framework;
    const std::vector<UnwrappedCommand> commands = commands_of(step);
    for (const UnwrappedCommand& command : commands) {
        if (!command.certain) continue;
        if (auto misfit = command_misfit(step, read_command(command.words))) return misfit;
    }
    if (auto misfit = remote_misfit(commands, step.request)) return misfit;
    // A service's program may have any name.
    const bool wants_launcher =
        mode.service == nullptr && !mode.launchers.empty() && !mode.scripts_launch;
    if (!wants_launcher || !is_python_alone(commands, mode)) return std::nullopt;
    return no_launcher(step, started_program(step.facts.program).words);
}

std::optional<GivenLauncher> given_launcher(const StepView& step) {
    const Framework& mode = *step.request.framework;
    if (mode.launcher_options == nullptr) return std::nullopt;
    for (const UnwrappedCommand& started : commands_of(step)) {
        const Command command = read_command(started.words);
        const std::string_view name = launcher(command, mode, &Framework::launchers);
        if (name.empty() || !started.certain) continue;
        const auto words = static_cast<std::size_t>(std::ranges::count(name, ' ')) + 1;
        const std::vector<std::string> options(
            command.words.begin() + static_cast<std::ptrdiff_t>(words), command.words.end());
        return GivenLauncher{name, read_options(*mode.launcher_options, options)};
    }
    return std::nullopt;
}

}  // namespace distgpu
