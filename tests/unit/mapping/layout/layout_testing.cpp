// A layout's queries against a list that has each task written out.
#include "layout_testing.h"

#include <algorithm>
#include <set>

namespace distgpu::layout_testing {

namespace {

using TasksOfNodes = std::vector<std::vector<std::uint32_t>>;

std::string difference_of_tasks(const StepLayout& layout, const Nodes& expected,
                                TasksOfNodes& tasks) {
    for (std::uint32_t t = 0; t < expected.size(); ++t) {
        auto& on_node = tasks[expected[t]];
        const NodeIndex node{expected[t]};
        const LocalRank local{static_cast<std::uint32_t>(on_node.size())};
        const Placement place{.node = node, .local_rank = local};
        if (layout.place(TaskId{t}) != place) return "place of task " + std::to_string(t);
        if (layout.task(node, local) != TaskId{t}) return "task(place of " + std::to_string(t);
        on_node.push_back(t);
    }
    return "";
}

std::vector<std::uint32_t> written_out(const std::vector<TaskRun>& runs) {
    std::vector<std::uint32_t> tasks;
    for (const auto& run : runs) {
        if (run.first_local.value != tasks.size()) return {};
        for (std::uint32_t i = 0; i < run.repeat * run.count; ++i) {
            tasks.push_back(run.first.value + i / run.count * run.stride + i % run.count);
        }
    }
    return tasks;
}

std::string difference_of_nodes(const StepLayout& layout, const TasksOfNodes& tasks) {
    std::size_t most = 0;
    auto least = tasks.front().size();
    for (std::uint32_t n = 0; n < tasks.size(); ++n) {
        const NodeIndex node{n};
        if (layout.tasks_on(node) != tasks[n].size()) return "tasks_on " + std::to_string(n);
        if (written_out(layout.tasks_of(node)) != tasks[n]) return "tasks_of " + std::to_string(n);
        most = std::max(most, tasks[n].size());
        least = std::min(least, tasks[n].size());
    }
    if (layout.max_tasks_per_node() != most) return "max_tasks_per_node";
    if (layout.min_tasks_per_node() != least) return "min_tasks_per_node";
    return "";
}

std::string difference_of_nodes_before(const StepLayout& layout, const Nodes& expected) {
    std::set<std::uint32_t> before;
    for (std::uint32_t t = 0; t < expected.size(); ++t) {
        if (layout.nodes_before(TaskId{t}) != before.size()) {
            return "nodes_before " + std::to_string(t);
        }
        before.insert(expected[t]);
    }
    return "";
}

}  // namespace

std::string difference(const StepLayout& layout, const Nodes& expected) {
    if (layout.task_count() != expected.size()) return "task_count";
    TasksOfNodes tasks(layout.node_count());
    auto found = difference_of_tasks(layout, expected, tasks);
    if (found.empty()) found = difference_of_nodes(layout, tasks);
    if (!found.empty()) return found;
    found = difference_of_nodes_before(layout, expected);
    if (!found.empty()) return found;
    const auto again = StepLayout::from_task_map(layout.hosts(), map_of(layout));
    return again && *again == layout ? "" : "from_task_map(task_map())";
}

}  // namespace distgpu::layout_testing
