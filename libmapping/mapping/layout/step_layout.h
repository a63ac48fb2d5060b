// The layout of a step: node, local rank and framework rank of every task. It is built from one of
// Slurm's distributions (block, cyclic, plane), from an arbitrary placement or from a task map.
#pragma once

#include "mapping/layout/hostlist.h"

namespace distgpu {

// The size of a step, or an upper limit of it.
struct StepSize {
    std::uint32_t nodes = 0;
    std::uint32_t tasks = 0;

    bool operator==(const StepSize&) const = default;
};

// The largest numbers that are accepted; Slurm's own limits are far below.
inline constexpr StepSize max_step_size{std::uint32_t{HostList::max_hosts},
                                        (std::uint32_t{1} << 31U) - 1};

// `tasks` on each of `nodes` consecutive nodes: "4(x2),1" is {4,2},{1,1}.
struct TasksRun {
    std::uint32_t tasks = 0;
    std::uint32_t nodes = 0;

    bool operator==(const TasksRun&) const = default;
};

// Parses SLURM_STEP_TASKS_PER_NODE (or SLURM_TASKS_PER_NODE): counts separated by commas, "(xN)"
// after a count for N nodes in a row; no blanks. Errors: empty or malformed text, a zero, more
// nodes or tasks in total than `limit`. The object is the text, shortened to 60 characters around
// the error, with its 1-based position.
Result<std::vector<TasksRun>> parse_tasks_per_node(std::string_view text,
                                                   StepSize limit = max_step_size);

// A block of a task map as in Flux RFC 34, [nodeid, nnodes, ppn, repeat]: tasks_per_node
// consecutive tasks on each of `nodes` nodes from `node` on, all this `repeat` times. [0,3,1,2]
// places tasks 0..5 on nodes 0,1,2,0,1,2.
struct TaskMapBlock {
    std::uint32_t node = 0;
    std::uint32_t nodes = 0;
    std::uint32_t tasks_per_node = 0;
    std::uint32_t repeat = 0;

    bool operator==(const TaskMapBlock&) const = default;
};

// The number of tasks in such blocks. Errors: no block, a zero field, a node from `node_count` on,
// more tasks than a layout can hold.
Result<std::uint32_t> count_tasks(std::span<const TaskMapBlock> blocks, std::uint64_t node_count);

// How Slurm distributes tasks over nodes (SLURM_DISTRIBUTION up to ':'). Arbitrary is not here: it
// cannot be derived from counts.
struct Distribution {
    enum class Kind { block, cyclic, plane };

    Kind kind = Kind::block;
    std::uint32_t plane_size = 0;  // tasks per node and round, plane only: SLURM_DIST_PLANESIZE

    bool operator==(const Distribution&) const = default;
};

struct Placement {
    NodeIndex node;
    LocalRank local_rank;

    bool operator==(const Placement&) const = default;
};

// Local ranks follow the task ids on a node, as in Slurm. Every node has at least one task.
// Immutable. Memory and construction are linear in tasks and nodes, queries take constant or
// logarithmic time.
class StepLayout {
  public:
    static constexpr std::uint64_t max_nodes = max_step_size.nodes;
    // At most 48 MiB of memory. Slurm's largest steps have some 100,000 tasks.
    static constexpr std::uint64_t max_tasks = std::uint64_t{1} << 22U;

    // Distributes tasks as Slurm does (run on 22.05, 24.11 and 26.05): block fills the nodes in
    // order, cyclic places one task per node and round, plane places up to plane_size of them; full
    // nodes are skipped. `tasks_per_node`: the counts of all hosts, in their order.
    // Errors: a zero count, counts for more or fewer nodes than `hosts` has, more nodes or tasks
    // than the maximum, plane size 0.
    static Result<StepLayout> distribute(HostList hosts, std::span<const TasksRun> tasks_per_node,
                                         Distribution distribution);

    // From a map; blocks may overlap in any way. Errors: those of count_tasks(), a node without a
    // task.
    static Result<StepLayout> from_task_map(HostList hosts,
                                            const std::vector<TaskMapBlock>& blocks);

    // Arbitrary distribution: node_of_task[t] is the node of task t, an index into `hosts`.
    // Errors: an index past `hosts`, a node without a task, more tasks than max_tasks.
    static Result<StepLayout> from_assignment(HostList hosts,
                                              std::vector<std::uint32_t> node_of_task);

    // As slurmctld reports a step: tasks_of_nodes[n] are the tasks of node n, in any order.
    // Errors: task ids other than 0 to n-1, each once, and as from_assignment().
    static Result<StepLayout> from_task_lists(
        HostList hosts, std::span<const std::vector<std::uint32_t>> tasks_of_nodes);

    // A heterogeneous step: node indices and task ids of each component follow those of the
    // components before it. A host of two components is two nodes, because each has local ranks
    // from 0. Errors: no component, more nodes or tasks than the maximum.
    static Result<StepLayout> from_components(std::span<const StepLayout> components);

    // The same placement, but with ranks in the given node order. If Slurm placed the tasks in
    // blocks, order[0] gets the first block of ranks, and so on. Otherwise order[i] gets the ranks
    // that the node with node rank i has now, so that cyclic stays cyclic.
    // Precondition: `order` names each node once.
    // Error: tasks not in blocks (cyclic, plane, arbitrary) and different numbers of them per node.
    Result<StepLayout> with_order(std::vector<NodeIndex> order) const;

    // The node order of with_order(); empty: each task's rank is its task id.
    std::span<const NodeIndex> order() const { return order_; }

    const HostList& hosts() const { return hosts_; }
    std::uint32_t node_count() const { return static_cast<std::uint32_t>(tasks_.first.size() - 1); }
    std::uint32_t task_count() const { return static_cast<std::uint32_t>(tasks_.node_of.size()); }
    std::uint32_t max_tasks_per_node() const { return tasks_.max_per_node; }
    std::uint32_t min_tasks_per_node() const { return tasks_.min_per_node; }

    // Precondition: below task_count().
    Placement place(TaskId task) const { return tasks_.place(task.value); }
    Placement place(GlobalRank rank) const { return ranks().place(rank.value); }

    // The inverse of place(). Preconditions: node < node_count(), local_rank < tasks_on(node).
    TaskId task(NodeIndex node, LocalRank local_rank) const {
        return TaskId{tasks_.of(node)[local_rank.value]};
    }
    GlobalRank rank(NodeIndex node, LocalRank local_rank) const {
        return GlobalRank{ranks().of(node)[local_rank.value]};
    }

    // Nodes are numbered by their lowest ranks: rank 0's node is 0, wherever it is in the node
    // list. Precondition of both: node < node_count().
    NodeRank node_rank(NodeIndex node) const { return NodeRank{ranks().position_of[node.value]}; }
    std::uint32_t tasks_on(NodeIndex node) const {
        return static_cast<std::uint32_t>(tasks_.of(node).size());
    }

    // The node's task ids, local rank 0 first.
    std::vector<TaskId> task_ids(NodeIndex node) const;

    // The placement as a task map. Slurm's distributions need few blocks.
    std::vector<TaskMapBlock> task_map() const;

    bool operator==(const StepLayout& other) const {
        return hosts_ == other.hosts_ && tasks_.node_of == other.tasks_.node_of &&
               order_ == other.order_;
    }

  private:
    // Numbers from 0 on, task ids or ranks, and the node that has each.
    struct NumbersByNode {
        NumbersByNode(std::vector<std::uint32_t> node_of_number, std::uint32_t nodes);

        // The numbers of a node, ascending.
        std::span<const std::uint32_t> of(NodeIndex node) const {
            return std::span(by_node).subspan(first[node.value],
                                              first[node.value + 1] - first[node.value]);
        }
        Placement place(std::uint32_t number) const;

        std::vector<std::uint32_t> node_of;      // by number
        std::vector<std::uint32_t> first;        // by node: where its numbers begin in by_node
        std::vector<std::uint32_t> by_node;      // the numbers, node after node
        std::vector<std::uint32_t> position_of;  // by node: its place when ordered by lowest number
        std::uint32_t min_per_node = ~0U;
        std::uint32_t max_per_node = 0;
    };

    StepLayout(HostList hosts, NumbersByNode tasks)
        : hosts_(std::move(hosts)), tasks_(std::move(tasks)) {}

    const NumbersByNode& ranks() const { return ranks_ ? *ranks_ : tasks_; }

    HostList hosts_;
    NumbersByNode tasks_;
    std::optional<NumbersByNode> ranks_;  // nullopt: each rank is the task id
    std::vector<NodeIndex> order_;
};

// The framework rank of a task.
GlobalRank rank_of(const StepLayout& layout, TaskId task);

// The node that runs rank 0, whose address is MASTER_ADDR.
NodeIndex rank0_node(const StepLayout& layout);

}  // namespace distgpu
