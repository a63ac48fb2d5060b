#include "slurm/slurm_queries.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/values.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <thread>

namespace distgpu {
Result<std::string> run_slurm_command(const Environment& environment,
                                      const std::vector<std::string>& command,
                                      std::chrono::milliseconds time_limit) {
    const std::string path = environment.text("PATH");
    const std::string_view name = command.front();
    std::string program = find_programs(path, {&name, 1}).front();
    if (program.empty()) {
        return Error{join(command, " "), formatted("{} is in no folder of PATH that answers", name),
                     ""};
    }
    std::vector<std::string> words{"/usr/bin/env"};
    for (const char* variable : {"PATH", "SLURM_CONF"}) {
        if (const auto value = environment.get(variable)) {
            words.push_back(variable + ("=" + *value));
        }
    }
    words.push_back(std::move(program));
    words.insert(words.end(), std::next(command.begin()), command.end());
    auto text = run_command(words, time_limit);
    if (text) return text;
    // Names the command without the variables, as PATH may be very long.
    return Error{join(command, " "), text.error().problem, text.error().remedy};
}

namespace {

using namespace std::chrono_literals;

// The text between two others; empty if one of them is missing.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
    const std::size_t from = text.find(begin);
    if (from == std::string_view::npos) return {};
    text.remove_prefix(from + begin.size());
    const std::size_t to = text.find(end);
    return to == std::string_view::npos ? std::string_view() : text.substr(0, to);
}

// The tasks in "\tNode 1 (node04), 2 task(s): 5 7 ".
std::vector<std::uint32_t> tasks_of_line(std::string_view line) {
    std::vector<std::uint32_t> tasks;
    for (const std::string_view word :
         words_in(line.substr(std::min(line.find(": "), line.size())))) {
        if (const auto task = whole_number(word)) tasks.push_back(*task);
    }
    return tasks;
}

// The tasks of each node, in the order of the node list.
std::vector<std::vector<std::uint32_t>> tasks_of_nodes(std::string_view text) {
    std::vector<std::vector<std::uint32_t>> nodes;
    while (!text.empty()) {
        const std::string_view line = cut_until(text, '\n');
        if (line.substr(0, 6) == "\tNode ") nodes.push_back(tasks_of_line(line));
    }
    return nodes;
}

Error layout_error(const std::string& step, std::string_view reason) {
    return {"step " + step,
            formatted("only slurmctld knows which node each task runs on, {}", reason),
            "use srun -m cyclic or -m plane=N, or srun --distgpu"};
}

}  // namespace

Result<std::string> cancel_step(const std::string& step, const Environment& environment) {
    // srun drops output that has not arrived when the step is cancelled (22.05).
    std::this_thread::sleep_for(250ms);
    return run_slurm_command(environment, {"scancel", step}, 30s);
}

Result<StepLayout> parse_sattach(std::string_view text) {
    auto layout = HostList::parse(between(text, " nodes (", ")\n")).and_then([&](HostList hosts) {
        return StepLayout::from_task_lists(std::move(hosts), tasks_of_nodes(text));
    });
    if (layout) return layout;
    return Error{"sattach --layout", "printed no step layout", ""};
}

StepQuery layout_query(const Environment& environment) {
    return [&environment](const StepId& step) -> Result<StepLayout> {
        const std::string id = formatted("{}.{}", step.job, step.step);
        const auto tasks = environment.number("SLURM_STEP_NUM_TASKS");
        if (tasks.value_or(0) > max_querying_tasks) {
            return layout_error(id,
                                formatted("and at most {} tasks may ask it, but the step has {}",
                                          max_querying_tasks, *tasks));
        }
        auto layout = run_slurm_command(environment, {"sattach", "--layout", id}, 10s)
                          .and_then([](const std::string& text) { return parse_sattach(text); });
        if (layout) return layout;
        const std::string& problem = layout.error().problem;
        return layout_error(id, formatted("and sattach --layout failed: {}", problem));
    };
}

}  // namespace distgpu
