// The placement of every task: making it from a task map, and its queries.
#include "mapping/layout/step_layout.h"

#include "base/format.h"
#include "node_counts.h"
#include "task_map.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace distgpu {

// The single way to a layout: whatever the source, the map is checked here.
Result<StepLayout> StepLayout::assemble(HostList hosts, std::vector<TaskMapBlock> blocks) {
    if (hosts.empty() || hosts.size() > max_nodes) {
        return Error{.object = "task map",
                     .problem = formatted("a host list of {} nodes", hosts.size()),
                     .remedy = formatted("name 1 to {} hosts", max_nodes)};
    }
    const auto tasks = layout::check_blocks(blocks, hosts.size());
    if (!tasks) return tasks.error();

    StepLayout layout;
    layout.node_count_ = static_cast<std::uint32_t>(hosts.size());
    layout.task_count_ = *tasks;
    layout::NodeCounts counts{blocks, layout.node_count_};
    std::uint32_t first_task = 0;
    layout.starts_.reserve(blocks.size());
    for (const auto& block : blocks) {
        const auto before = counts.of(block);
        layout.starts_.push_back({.first_task = first_task,
                                  .first_local = before.min,
                                  .equal_before = before.min == before.max});
        counts.add(block, block.tasks_per_node * block.repeat);
        first_task += block.nodes * block.tasks_per_node * block.repeat;
    }
    layout.min_on_a_node_ = counts.all().min;
    layout.max_on_a_node_ = counts.all().max;
    if (layout.min_on_a_node_ == 0) {
        const NodeIndex empty{counts.first_empty()};
        return Error{
            .object = "task map",
            .problem = formatted("no task on node {} ({})", empty.value, hosts.name(empty)),
            .remedy = "place at least one task on each host, or leave the host out"};
    }
    layout.hosts_ = std::move(hosts);
    layout.blocks_ = std::move(blocks);
    layout.by_node_.resize(layout.blocks_.size());
    std::iota(layout.by_node_.begin(), layout.by_node_.end(), 0U);
    std::stable_sort(layout.by_node_.begin(), layout.by_node_.end(),
                     [&map = layout.blocks_](std::uint32_t a, std::uint32_t b) {
                         return map[a].node < map[b].node;
                     });
    layout.reach_.resize(layout.blocks_.size());
    layout.build_node_tree(0, layout.by_node_.size());
    return layout;
}

Result<StepLayout> StepLayout::from_task_map(HostList hosts, std::vector<TaskMapBlock> blocks) {
    // Joining blocks multiplies and adds their fields: checked before.
    const auto tasks = layout::check_blocks(blocks, hosts.size());
    if (!tasks) return tasks.error();
    layout::TaskMapBuilder map;
    for (const auto& block : blocks) map.add(block);
    return assemble(std::move(hosts), std::move(map).take());
}

Result<StepLayout> StepLayout::from_assignment(HostList hosts,
                                               std::span<const std::uint32_t> node_of_task) {
    if (node_of_task.size() > max_tasks) {
        return Error{.object = "task map",
                     .problem = formatted("{} tasks", node_of_task.size()),
                     .remedy = formatted("a step has at most {}", max_tasks)};
    }
    layout::TaskMapBuilder map;
    for (std::size_t task = 0; task < node_of_task.size();) {
        const auto node = node_of_task[task];
        if (node >= hosts.size()) {
            return Error{
                .object = "task map",
                .problem = formatted("task {} is on node {}, but the host list has {} nodes", task,
                                     node, hosts.size()),
                .remedy = "number the nodes from 0 in the order of the host list"};
        }
        const auto begin = task;
        while (task < node_of_task.size() && node_of_task[task] == node) ++task;
        map.add({.node = node,
                 .nodes = 1,
                 .tasks_per_node = static_cast<std::uint32_t>(task - begin),
                 .repeat = 1});
        if (map.size() > max_blocks) return layout::too_many_blocks();
    }
    return assemble(std::move(hosts), std::move(map).take());
}

Result<StepLayout> StepLayout::from_task_lists(
    HostList hosts, std::span<const std::vector<std::uint32_t>> tasks_of_nodes) {
    constexpr std::uint32_t nobody = ~0U;
    std::size_t count = 0;
    for (const auto& tasks : tasks_of_nodes) count += tasks.size();
    std::vector<std::uint32_t> node_of_task(count, nobody);
    for (std::uint32_t node = 0; node < tasks_of_nodes.size(); ++node) {
        for (const std::uint32_t task : tasks_of_nodes[node]) {
            if (task >= count || node_of_task[task] != nobody) {
                return Error{
                    .object = "task map",
                    .problem = formatted("task {} of {}, on node {}, {}", task, count, node,
                                         task >= count ? "does not exist" : "is on a node already"),
                    .remedy = "name each task on one node"};
            }
            node_of_task[task] = node;
        }
    }
    return from_assignment(std::move(hosts), node_of_task);
}

Result<StepLayout> StepLayout::from_components(std::span<const StepLayout> components) {
    if (components.empty()) {
        return Error{.object = "heterogeneous step",
                     .problem = "no component",
                     .remedy = "give at least one"};
    }
    std::vector<HostList> lists;
    layout::TaskMapBuilder map;
    std::uint64_t nodes = 0;
    std::uint64_t tasks = 0;
    for (const auto& component : components) {
        const auto first_node = static_cast<std::uint32_t>(nodes);
        nodes += component.node_count();
        tasks += component.task_count();
        if (nodes > max_nodes || tasks > max_tasks) {
            return Error{
                .object = "heterogeneous step",
                .problem = formatted("{} nodes and {} tasks or more", nodes, tasks),
                .remedy = formatted("use at most {} nodes and {} tasks", max_nodes, max_tasks)};
        }
        lists.push_back(component.hosts());
        for (auto block : component.task_map()) {
            block.node += first_node;
            map.add(block);
        }
    }
    return assemble(HostList::concatenate(lists), std::move(map).take());
}

Placement StepLayout::place(TaskId task) const {
    const auto after = std::upper_bound(
        starts_.begin(), starts_.end(), task.value,
        [](std::uint32_t t, const BlockStart& start) { return t < start.first_task; });
    const auto index = static_cast<std::size_t>(after - starts_.begin()) - 1;
    const auto& block = blocks_[index];
    const auto& start = starts_[index];
    const auto a_round = static_cast<std::uint32_t>(layout::tasks_a_round(block));
    const auto offset = task.value - start.first_task;
    const auto in_round = offset % a_round;
    const NodeIndex node{block.node + in_round / block.tasks_per_node};
    auto local = offset / a_round * block.tasks_per_node + in_round % block.tasks_per_node;
    if (start.equal_before) {
        local += start.first_local;
    } else {
        for (const auto earlier : blocks_of(node)) {
            if (earlier >= index) break;
            local += blocks_[earlier].tasks_per_node * blocks_[earlier].repeat;
        }
    }
    return {.node = node, .local_rank = LocalRank{local}};
}

TaskId StepLayout::task(NodeIndex node, LocalRank local_rank) const {
    TaskId found;
    for (const auto& run : tasks_of(node)) {
        if (local_rank.value < run.first_local.value) break;
        const auto offset = local_rank.value - run.first_local.value;
        found.value = run.first.value + offset / run.count * run.stride + offset % run.count;
    }
    return found;
}

std::uint32_t StepLayout::nodes_before(TaskId task) const {
    struct Stretch {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
    };
    std::vector<Stretch> reached;
    for (std::size_t i = 0; i < blocks_.size() && starts_[i].first_task < task.value; ++i) {
        const auto& block = blocks_[i];
        const auto tasks = task.value - starts_[i].first_task;
        const auto begun = (tasks - 1) / block.tasks_per_node + 1;
        reached.push_back({block.node, block.node + std::min(begun, block.nodes)});
    }
    std::sort(reached.begin(), reached.end(),
              [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
    std::uint32_t nodes = 0;
    std::uint32_t counted = 0;  // nodes up to here are
    for (const auto& stretch : reached) {
        const auto begin = std::max(stretch.begin, counted);
        if (stretch.end <= begin) continue;
        nodes += stretch.end - begin;
        counted = stretch.end;
    }
    return nodes;
}

std::uint32_t StepLayout::tasks_on(NodeIndex node) const {
    std::uint32_t tasks = 0;
    for (const auto index : blocks_of(node)) {
        tasks += blocks_[index].tasks_per_node * blocks_[index].repeat;
    }
    return tasks;
}

std::vector<TaskRun> StepLayout::tasks_of(NodeIndex node) const {
    std::vector<TaskRun> runs;
    std::uint32_t local = 0;
    for (const auto index : blocks_of(node)) {
        const auto& block = blocks_[index];
        const auto skipped = (node.value - block.node) * block.tasks_per_node;
        runs.push_back({.first = TaskId{starts_[index].first_task + skipped},
                        .first_local = LocalRank{local},
                        .count = block.tasks_per_node,
                        .stride = static_cast<std::uint32_t>(layout::tasks_a_round(block)),
                        .repeat = block.repeat});
        local += block.tasks_per_node * block.repeat;
    }
    return runs;
}

// The middle of [begin, end) is the subtree's root. Returns its reach.
std::uint32_t StepLayout::build_node_tree(std::size_t begin, std::size_t end) {
    if (begin == end) return 0;
    const auto middle = begin + (end - begin) / 2;
    const auto& block = blocks_[by_node_[middle]];
    reach_[middle] = std::max({block.node + block.nodes, build_node_tree(begin, middle),
                               build_node_tree(middle + 1, end)});
    return reach_[middle];
}

void StepLayout::collect_blocks(NodeIndex node, std::size_t begin, std::size_t end,
                                std::vector<std::uint32_t>& found) const {
    if (begin == end) return;
    const auto middle = begin + (end - begin) / 2;
    if (reach_[middle] <= node.value) return;
    collect_blocks(node, begin, middle, found);
    const auto& block = blocks_[by_node_[middle]];
    if (block.node > node.value) return;
    if (node.value < block.node + block.nodes) found.push_back(by_node_[middle]);
    collect_blocks(node, middle + 1, end, found);
}

// The indices of the blocks that hold a node, in task order.
std::vector<std::uint32_t> StepLayout::blocks_of(NodeIndex node) const {
    std::vector<std::uint32_t> found;
    collect_blocks(node, 0, by_node_.size(), found);
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<TaskId> StepLayout::task_ids(NodeIndex node) const {
    std::vector<TaskId> ids;
    for (const TaskRun& run : tasks_of(node)) {
        for (std::uint32_t group = 0; group < run.repeat; ++group) {
            for (std::uint32_t i = 0; i < run.count; ++i) {
                ids.push_back(TaskId{run.first.value + group * run.stride + i});
            }
        }
    }
    return ids;
}

}  // namespace distgpu
