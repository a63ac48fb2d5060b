#include "slurm/step_query.h"

#include "base/format.h"
#include "base/take_until.h"
#include "base/values.h"
#include "slurm/slurm_command.h"

#include <chrono>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

// The text between two others; empty where one of them is not there.
std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
    const std::size_t from = text.find(begin);
    if (from == std::string_view::npos) return {};
    text.remove_prefix(from + begin.size());
    const std::size_t to = text.find(end);
    return to == std::string_view::npos ? std::string_view() : text.substr(0, to);
}

// "\tNode 1 (node04), 2 task(s): 5 7 ": its tasks.
std::vector<std::uint32_t> tasks_of_line(std::string_view line) {
    std::vector<std::uint32_t> tasks;
    const std::string_view colon = ": ";
    std::string_view rest = line.substr(std::min(line.find(colon), line.size()));
    rest.remove_prefix(std::min(colon.size(), rest.size()));
    while (!rest.empty()) {
        const std::string_view word = take_until(rest, ' ');
        if (const auto task = whole_number(word)) tasks.push_back(*task);
    }
    return tasks;
}

// By node, in the order of the node list.
std::vector<std::vector<std::uint32_t>> tasks_of_nodes(std::string_view text) {
    std::vector<std::vector<std::uint32_t>> nodes;
    while (!text.empty()) {
        const std::string_view line = take_until(text, '\n');
        if (line.substr(0, 6) == "\tNode ") nodes.push_back(tasks_of_line(line));
    }
    return nodes;
}

Error refused(const std::string& step, std::string_view why) {
    return {"step " + step, formatted("only slurmctld knows which node each task runs on, {}", why),
            "use srun -m cyclic or -m plane=N, or srun --distgpu"};
}

}  // namespace

Result<StepLayout> parse_sattach(std::string_view text) {
    auto layout = HostList::parse(between(text, " nodes (", ")\n")).and_then([&](HostList hosts) {
        return StepLayout::from_task_lists(std::move(hosts), tasks_of_nodes(text));
    });
    if (layout) return layout;
    return Error{"sattach --layout", "its answer is not a step's layout", ""};
}

StepQuery ask_slurm(const Environment& environment) {
    return [&environment](const StepId& step) -> Result<StepLayout> {
        const std::string id = formatted("{}.{}", step.job, step.step);
        const auto tasks = whole_number(environment.get("SLURM_STEP_NUM_TASKS").value_or(""));
        if (tasks.value_or(0) > most_asking_tasks) {
            return refused(id, formatted("and at most {} tasks may ask it, but the step has {}",
                                         most_asking_tasks, *tasks));
        }
        auto layout = run_slurm_command(environment, {"sattach", "--layout", id}, 10s)
                          .and_then([](const std::string& text) { return parse_sattach(text); });
        if (layout) return layout;
        return refused(id, formatted("and sattach --layout failed: {}", layout.error().problem));
    };
}

}  // namespace distgpu
