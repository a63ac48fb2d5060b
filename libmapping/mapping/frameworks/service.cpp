#include "mapping/frameworks/service.h"

#include "mapping/frameworks/launchers.h"

namespace distgpu {

StartedProgram started_program(std::span<const std::string> command_line) {
    const bool is_exec = command_line.size() > 2 && file_name(command_line[0]) == "distgpu" &&
                         command_line[1] == "exec";
    if (!is_exec) return {command_line};
    const auto dashes = std::find(command_line.begin(), command_line.end(), "--");
    if (dashes == command_line.end()) return {command_line};
    return {command_line.subspan(static_cast<std::size_t>(dashes - command_line.begin()) + 1),
            true};
}

std::optional<std::string_view> given_value(std::span<const std::string> words,
                                            std::string_view names) {
    std::optional<std::string_view> value;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const std::size_t equals = word.find('=');
        std::string name(word.substr(0, equals));
        // vLLM's parser and Python's accept --node_rank for --node-rank.
        std::replace(name.begin(), name.end(), '_', '-');
        if (word.size() < 2 || word.front() != '-' || !has_word(names, name)) continue;
        if (equals != std::string_view::npos) {
            value = word.substr(equals + 1);
        } else {
            const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with('-');
            value = has_value ? std::string_view(words[i + 1]) : std::string_view{};
        }
    }
    return value;
}

std::optional<std::string_view> given_value(std::span<const std::string> words,
                                            const ProgramOption& option) {
    const auto value = given_value(words, option.name);
    return value ? value : given_value(words, option.synonyms);
}

std::vector<std::string> service_options(const Service& service, const TaskContext& task) {
    const auto program = started_program(task.step->facts.program).words;
    std::vector<std::string> options;
    for (const ProgramOption& option : service.options) {
        auto value = option.value(task);
        const bool is_given = service.companion.empty() && given_value(program, option);
        if (!value || is_given) continue;
        options.emplace_back(option.name);
        if (!value->empty()) options.push_back(*std::move(value));
    }
    return options;
}

namespace contract {

namespace {

using Words = std::span<const std::string>;

// True for `bash -c TEXT` without "$@" in the text: appended options become $0 and $1.
bool swallows_options(Words program) {
    if (program.size() < 3) return false;
    const bool is_shell = has_word("sh bash dash zsh ksh", file_name(program[0]));
    return is_shell && program[1].starts_with('-') && program[1].ends_with('c') &&
           program[2].find('@') == std::string::npos;
}

std::optional<Error> refuse_per_node_option(const StepView& step, Words program) {
    if (step.layout.node_count() == 1) return std::nullopt;
    const Service& service = *step.request.framework->service;
    if (!service.companion.empty()) return std::nullopt;
    for (const ProgramOption& option : service.options) {
        if (!option.is_per_node || !given_value(program, option)) continue;
        return Error{std::string(option.name),
                     "every node would get the same value, but each needs its own",
                     "leave it out: distgpu exec gives each node its own"};
    }
    return std::nullopt;
}

}  // namespace

bool lacks_exec(const StepView& step) {
    return step.request.framework->service != nullptr &&
           !started_program(step.facts.program).by_exec && is_launcher(step);
}

Error missing_exec_error(const StepView& step) {
    const bool is_driver = !step.request.framework->service->companion.empty();
    const std::string program = excerpt(join(step.facts.program, " "));
    return {program,
            is_driver ? "each node would run it, and none would start the cluster"
                      : "it reads its place in the step only from its options, so each node would "
                        "run a separate server",
            formatted("write srun --ntasks-per-node=1 {} distgpu exec -- {}",
                      option_of(step.request), program)};
}

std::optional<Error> refuse_service(const StepView& step) {
    const std::uint32_t tasks = step.layout.max_tasks_per_node();
    const StartedProgram program = started_program(step.facts.program);
    if (tasks > 1) {
        return Error{option_of(step.request),
                     formatted("{} tasks on a node, but one program runs on each and uses all "
                               "the GPUs of the step there",
                               tasks),
                     formatted("use {} {}", one_task_options(step), option_of(step.request))};
    }
    if (program.words.empty()) return std::nullopt;
    if (!step.facts.inserts_exec && lacks_exec(step)) return missing_exec_error(step);
    const bool gets_options = step.request.framework->service->companion.empty();
    if (program.by_exec && gets_options && swallows_options(program.words)) {
        return Error{excerpt(join(program.words, " ")),
                     "distgpu exec appends the node's options, which do not reach the commands in "
                     "the shell's text",
                     "write distgpu exec inside the text, or \"$@\" after the program there and "
                     "a word for $0 after the text"};
    }
    return refuse_per_node_option(step, program.words);
}

std::optional<Error> refuse_uneven_sizes(const StepView& step, std::span<const Text> sizes) {
    constexpr std::uint32_t max_size = 1U << 20U;
    const auto program = started_program(step.facts.program).words;
    const std::uint32_t nodes = step.layout.node_count();
    std::uint64_t product = 1;
    std::vector<std::string> given;
    for (const std::string_view names : sizes) {
        const auto value = given_value(program, names);
        if (!value) continue;
        const auto count = whole_number(*value);
        // Left to the program to check.
        if (!count || *count == 0 || *count > max_size || product > max_size) return std::nullopt;
        product *= *count;
        given.push_back(formatted("{} {}", names.substr(0, names.find(' ')), *count));
    }
    if (given.empty() || product % nodes == 0) return std::nullopt;
    std::uint32_t fewer = nodes - 1;
    while (product % fewer != 0) --fewer;
    return Error{join(given, " "),
                 formatted("{} in all, which cannot be split evenly over {} nodes",
                           counted(product, "rank"), nodes),
                 formatted("use -N{}, or sizes whose product is a multiple of {}", fewer, nodes)};
}

}  // namespace contract

}  // namespace distgpu
