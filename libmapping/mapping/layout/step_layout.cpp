#include "mapping/layout/step_layout.h"

#include "base/format.h"

#include <algorithm>

namespace distgpu {
namespace {

Error bad_map(std::string problem, std::string remedy) {
    return {"task map", std::move(problem), std::move(remedy)};
}

Error bad_counts(std::string problem, std::string remedy) {
    return {"tasks per node", std::move(problem), std::move(remedy)};
}

Error node_past_end(std::string what, std::uint64_t node, std::uint64_t nodes) {
    return bad_map(formatted("{} node {}, but the host list has {} nodes", what, node, nodes),
                   "number the nodes from 0 in the order of the host list");
}

struct OpenNode {
    std::uint32_t node = 0;
    std::uint32_t tasks_left = 0;  // tasks that are still to be placed on it
};

Result<std::vector<OpenNode>> open_nodes(std::span<const TasksRun> counts, const HostList& hosts) {
    std::vector<OpenNode> open;
    std::uint64_t nodes = 0;
    std::uint64_t tasks = 0;
    for (const auto& run : counts) {
        if (run.tasks == 0 || run.nodes == 0) {
            return bad_counts(formatted("{} tasks on {} nodes", run.tasks, run.nodes),
                              "each node needs at least one task");
        }
        nodes += run.nodes;
        tasks += std::uint64_t{run.tasks} * run.nodes;
        if (nodes > hosts.size()) break;
        if (tasks > StepLayout::max_tasks) {
            return bad_counts(formatted("more than {} tasks", StepLayout::max_tasks),
                              "check the counts");
        }
        while (open.size() < nodes) {
            open.push_back({static_cast<std::uint32_t>(open.size()), run.tasks});
        }
    }
    if (nodes != hosts.size()) {
        return bad_counts(formatted("counts for {}{} nodes, but the host list has {}",
                                    nodes > hosts.size() ? "at least " : "", nodes, hosts.size()),
                          "give one count per host");
    }
    return open;
}

// Merges `block` into `last` if the result is one block.
bool merge(TaskMapBlock& last, const TaskMapBlock& block) {
    if (last.tasks_per_node != block.tasks_per_node) return false;
    if (last.repeat == 1 && block.repeat == 1 && block.node == last.node + last.nodes) {
        last.nodes += block.nodes;
        return true;
    }
    if (last.node != block.node || last.nodes != block.nodes) return false;
    last.repeat += block.repeat;
    return true;
}

}  // namespace

Result<std::uint32_t> count_tasks(std::span<const TaskMapBlock> blocks, std::uint64_t node_count) {
    if (blocks.empty()) return bad_map("no block", "give at least one [nodeid,nnodes,ppn,repeat]");
    std::uint64_t tasks = 0;
    for (const TaskMapBlock& block : blocks) {
        const auto block_text = [&] {
            return formatted("block {} [{},{},{},{}]", &block - blocks.data(), block.node,
                             block.nodes, block.tasks_per_node, block.repeat);
        };
        if (block.nodes == 0 || block.tasks_per_node == 0 || block.repeat == 0) {
            return bad_map(block_text() + " has a zero count",
                           "nnodes, ppn and repeat must be at least 1");
        }
        const auto end = std::uint64_t{block.node} + block.nodes;
        if (end > node_count) return node_past_end(block_text() + " ends at", end - 1, node_count);
        // Both factors have 32 bits: the product fits 64.
        const auto round = std::uint64_t{block.nodes} * block.tasks_per_node;
        if (round > StepLayout::max_tasks || round * block.repeat > StepLayout::max_tasks - tasks) {
            return bad_map(
                formatted("{} makes more than {} tasks", block_text(), StepLayout::max_tasks),
                "check ppn and repeat");
        }
        tasks += round * block.repeat;
    }
    return static_cast<std::uint32_t>(tasks);
}

StepLayout::NumbersByNode::NumbersByNode(std::vector<std::uint32_t> node_of_number,
                                         std::uint32_t nodes)
    : node_of(std::move(node_of_number)),
      first(nodes + 1),
      by_node(node_of.size()),
      position_of(nodes, nodes) {
    for (const std::uint32_t node : node_of) ++first[node + 1];
    for (std::uint32_t node = 0; node < nodes; ++node) first[node + 1] += first[node];
    std::vector<std::uint32_t> end(first.begin(), first.end() - 1);
    for (std::uint32_t node = 0; node < nodes; ++node) {
        min_per_node = std::min(min_per_node, first[node + 1] - first[node]);
        max_per_node = std::max(max_per_node, first[node + 1] - first[node]);
    }
    std::uint32_t position = 0;
    for (std::uint32_t number = 0; number < node_of.size(); ++number) {
        const std::uint32_t node = node_of[number];
        if (end[node] == first[node]) position_of[node] = position++;
        by_node[end[node]++] = number;
    }
}

Placement StepLayout::NumbersByNode::place(std::uint32_t number) const {
    const NodeIndex node{node_of[number]};
    const auto numbers = of(node);
    const auto at = std::lower_bound(numbers.begin(), numbers.end(), number) - numbers.begin();
    return {node, LocalRank{static_cast<std::uint32_t>(at)}};
}

// Every layout is built and checked here.
Result<StepLayout> StepLayout::from_assignment(HostList hosts,
                                               std::vector<std::uint32_t> node_of_task) {
    if (hosts.empty() || hosts.size() > max_nodes) {
        return bad_map(formatted("a host list of {} nodes", hosts.size()),
                       formatted("name 1 to {} hosts", max_nodes));
    }
    if (node_of_task.size() > max_tasks) {
        return bad_map(formatted("{} tasks", node_of_task.size()),
                       formatted("a step has at most {}", max_tasks));
    }
    if (node_of_task.empty()) return count_tasks({}, hosts.size()).error();
    const auto nodes = static_cast<std::uint32_t>(hosts.size());
    for (std::size_t task = 0; task < node_of_task.size(); ++task) {
        if (node_of_task[task] >= nodes) {
            return node_past_end(formatted("task {} is on", task), node_of_task[task], nodes);
        }
    }
    std::vector<bool> used(std::min<std::size_t>(nodes, node_of_task.size() + 1));
    for (const std::uint32_t node : node_of_task) {
        if (node < used.size()) used[node] = true;
    }
    const auto unused = std::find(used.begin(), used.end(), false);
    if (unused != used.end()) {
        const NodeIndex node{static_cast<std::uint32_t>(unused - used.begin())};
        return bad_map(formatted("no task on node {} ({})", node.value, hosts.name(node)),
                       "place at least one task on each host, or leave the host out");
    }
    return StepLayout(std::move(hosts), NumbersByNode(std::move(node_of_task), nodes));
}

Result<StepLayout> StepLayout::distribute(HostList hosts, std::span<const TasksRun> tasks_per_node,
                                          Distribution distribution) {
    if (hosts.empty() || hosts.size() > max_nodes) {
        return bad_counts(formatted("a host list of {} nodes", hosts.size()),
                          formatted("name 1 to {} hosts", max_nodes));
    }
    auto open = open_nodes(tasks_per_node, hosts);
    if (!open) return open.error();
    // Block is a plane larger than any node.
    std::uint32_t per_round = max_tasks;
    if (distribution.kind == Distribution::Kind::cyclic) per_round = 1;
    if (distribution.kind == Distribution::Kind::plane) per_round = distribution.plane_size;
    if (per_round == 0) {
        return Error{"plane size", "0 tasks per round", "give at least 1, such as plane=4"};
    }
    std::vector<std::uint32_t> node_of_task;
    while (!open->empty()) {
        for (OpenNode& node : *open) {
            const std::uint32_t tasks = std::min(per_round, node.tasks_left);
            node_of_task.insert(node_of_task.end(), tasks, node.node);
            node.tasks_left -= tasks;
        }
        std::erase_if(*open, [](const OpenNode& node) { return node.tasks_left == 0; });
    }
    return from_assignment(std::move(hosts), std::move(node_of_task));
}

Result<StepLayout> StepLayout::from_task_map(HostList hosts,
                                             const std::vector<TaskMapBlock>& blocks) {
    const auto tasks = count_tasks(blocks, hosts.size());
    if (!tasks) return tasks.error();
    std::vector<std::uint32_t> node_of_task;
    node_of_task.reserve(*tasks);
    for (const auto& block : blocks) {
        for (std::uint32_t round = 0; round < block.repeat; ++round) {
            for (std::uint32_t i = 0; i < block.nodes; ++i) {
                node_of_task.insert(node_of_task.end(), block.tasks_per_node, block.node + i);
            }
        }
    }
    return from_assignment(std::move(hosts), std::move(node_of_task));
}

Result<StepLayout> StepLayout::from_task_lists(
    HostList hosts, std::span<const std::vector<std::uint32_t>> tasks_of_nodes) {
    constexpr std::uint32_t unassigned = ~0U;
    std::size_t count = 0;
    for (const auto& tasks : tasks_of_nodes) count += tasks.size();
    std::vector<std::uint32_t> node_of_task(count, unassigned);
    for (std::uint32_t node = 0; node < tasks_of_nodes.size(); ++node) {
        for (const std::uint32_t task : tasks_of_nodes[node]) {
            if (task >= count || node_of_task[task] != unassigned) {
                return bad_map(formatted("task {} of {}, on node {}, {}", task, count, node,
                                         task >= count ? "does not exist" : "is on a node already"),
                               "name each task on one node");
            }
            node_of_task[task] = node;
        }
    }
    return from_assignment(std::move(hosts), std::move(node_of_task));
}

Result<StepLayout> StepLayout::from_components(std::span<const StepLayout> components) {
    const auto refuse = [](std::string problem, std::string remedy) {
        return Error{"heterogeneous step", std::move(problem), std::move(remedy)};
    };
    if (components.empty()) return refuse("no component", "give at least one");
    std::vector<HostList> lists;
    std::vector<std::uint32_t> node_of_task;
    std::uint64_t nodes = 0;
    for (const auto& component : components) {
        const auto first_node = static_cast<std::uint32_t>(nodes);
        nodes += component.node_count();
        const std::uint64_t tasks = node_of_task.size() + component.task_count();
        if (nodes > max_nodes || tasks > max_tasks) {
            return refuse(formatted("{} nodes and {} tasks or more", nodes, tasks),
                          formatted("use at most {} nodes and {} tasks", max_nodes, max_tasks));
        }
        lists.push_back(component.hosts());
        for (const std::uint32_t node : component.tasks_.node_of) {
            node_of_task.push_back(first_node + node);
        }
    }
    return from_assignment(HostList::concatenate(lists), std::move(node_of_task));
}

Result<StepLayout> StepLayout::with_order(std::vector<NodeIndex> order) const {
    std::vector<std::uint32_t> node_of_rank;
    bool is_in_blocks = true;
    for (std::uint32_t i = 0; i < node_count(); ++i) {
        const auto tasks = tasks_.of(NodeIndex{i});
        is_in_blocks = is_in_blocks && tasks.back() - tasks.front() + 1 == tasks.size();
    }
    if (is_in_blocks) {
        for (const NodeIndex node : order) {
            node_of_rank.insert(node_of_rank.end(), tasks_on(node), node.value);
        }
    } else {
        // Replaces each node of Slurm's placement by the node at its position in the order.
        for (const std::uint32_t node : tasks_.node_of) {
            const NodeIndex replacement = order[tasks_.position_of[node]];
            if (tasks_on(replacement) != tasks_on(NodeIndex{node})) {
                return Error{
                    "order",
                    formatted("the tasks are not in blocks, and the nodes have {} to {} of them",
                              min_tasks_per_node(), max_tasks_per_node()),
                    "use srun -m block, or the same --ntasks-per-node on all nodes"};
            }
            node_of_rank.push_back(replacement.value);
        }
    }
    StepLayout layout = *this;
    layout.ranks_ = NumbersByNode(std::move(node_of_rank), node_count());
    layout.order_ = std::move(order);
    return layout;
}

std::vector<TaskId> StepLayout::task_ids(NodeIndex node) const {
    std::vector<TaskId> ids;
    for (const std::uint32_t task : tasks_.of(node)) ids.push_back(TaskId{task});
    return ids;
}

std::vector<TaskMapBlock> StepLayout::task_map() const {
    std::vector<TaskMapBlock> map;
    const auto& nodes = tasks_.node_of;
    for (auto begin = nodes.begin(); begin != nodes.end();) {
        const auto end = std::find_if(
            begin, nodes.end(), [node = *begin](std::uint32_t other) { return other != node; });
        map.push_back({*begin, 1, static_cast<std::uint32_t>(end - begin), 1});
        // A block that grew may now continue or repeat the one before it.
        while (map.size() > 1 && merge(map[map.size() - 2], map.back())) map.pop_back();
        begin = end;
    }
    return map;
}

GlobalRank rank_of(const StepLayout& layout, TaskId task) {
    const Placement place = layout.place(task);
    return layout.rank(place.node, place.local_rank);
}

NodeIndex rank0_node(const StepLayout& layout) {
    return layout.place(GlobalRank{0}).node;
}

}  // namespace distgpu
