#include "mapping/frameworks/serving.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "mapping/frameworks/framework.h"
#include "mapping/frameworks/launchers.h"

#include <algorithm>
#include <vector>

namespace distgpu::contract {
namespace {

using Words = std::span<const std::string>;

// The line that starts it as it is meant.
std::string line_for(const StepView& step, Words program) {
    return formatted("srun --ntasks-per-node=1 {} distgpu exec -- {}", option_of(step.request),
                     excerpt(join(program, " ")));
}

// `bash -c TEXT` without "$@" in the text: what is appended becomes $0 and $1.
bool swallows_options(Words program) {
    constexpr std::array<std::string_view, 5> shells{"sh", "bash", "dash", "zsh", "ksh"};
    if (program.size() < 3) return false;
    const std::string_view path = program[0];
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const bool is_shell = std::find(shells.begin(), shells.end(), name) != shells.end();
    return is_shell && program[1].starts_with('-') && program[1].ends_with('c') &&
           program[2].find('@') == std::string::npos;
}

std::optional<Error> own_option_given(const StepView& step, Words program) {
    if (step.layout.node_count() == 1) return std::nullopt;
    const Service& service = *step.request.framework->service;
    if (!service.companion.empty()) return std::nullopt;
    for (const ProgramOption& option : service.options) {
        if (!option.of_the_node || !given_value(program, option)) continue;
        return Error{std::string(option.name),
                     "the same on every node, as the command line is, but each needs its own",
                     "leave it out: distgpu exec gives each node its own"};
    }
    return std::nullopt;
}

}  // namespace

bool lacks_exec(const StepView& step) {
    return step.request.framework->service != nullptr &&
           !started_program(step.facts.program).by_exec && is_launcher(step);
}

Error without_exec(const StepView& step) {
    const bool is_driver = !step.request.framework->service->companion.empty();
    return {excerpt(join(step.facts.program, " ")),
            is_driver ? "each node would run it, and none would start the cluster"
                      : "it takes its place in the step from its options alone, so each node would "
                        "run a server of its own",
            formatted("write {}", line_for(step, step.facts.program))};
}

std::optional<Error> no_service(const StepView& step) {
    const std::uint32_t tasks = step.layout.max_tasks_per_node();
    const StartedProgram program = started_program(step.facts.program);
    if (tasks > 1) {
        return Error{option_of(step.request),
                     formatted("{} tasks on a node, but one program runs on each and takes all "
                               "the GPUs of the step there",
                               tasks),
                     formatted("use {} {}", one_task_each(step), option_of(step.request))};
    }
    if (program.words.empty()) return std::nullopt;
    if (!step.facts.puts_exec_in_front && lacks_exec(step)) return without_exec(step);
    const bool gets_options = step.request.framework->service->companion.empty();
    if (program.by_exec && gets_options && swallows_options(program.words)) {
        return Error{excerpt(join(program.words, " ")),
                     "distgpu exec appends the node's options, which do not reach what stands in "
                     "the shell's text",
                     "write distgpu exec inside the text, or \"$@\" behind the program there and "
                     "a word for $0 behind the text"};
    }
    return own_option_given(step, program.words);
}

std::optional<Error> uneven_sizes(const StepView& step, std::span<const ParallelSize> sizes) {
    constexpr std::uint32_t most = 1U << 20U;
    const auto program = started_program(step.facts.program).words;
    const std::uint32_t nodes = step.layout.node_count();
    std::uint64_t product = 1;
    std::vector<std::string> written;
    for (const ParallelSize& size : sizes) {
        const auto value = given_value(program, size.names);
        if (!value) continue;
        const auto count = whole_number(*value);
        // Not for us to judge.
        if (!count || *count == 0 || *count > most || product > most) return std::nullopt;
        product *= *count;
        written.push_back(formatted("{} {}", size.names.substr(0, size.names.find(' ')), *count));
    }
    if (written.empty() || product % nodes == 0) return std::nullopt;
    std::uint32_t fewer = nodes - 1;
    while (product % fewer != 0) --fewer;
    return Error{join(written, " "),
                 formatted("{} in all, which {} nodes cannot share out evenly",
                           counted(product, "rank"), nodes),
                 formatted("use -N{}, or sizes whose product is a multiple of {}", fewer, nodes)};
}

}  // namespace distgpu::contract
