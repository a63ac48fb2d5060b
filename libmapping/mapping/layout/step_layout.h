// Which node and which local rank every task of a step has, and the framework's rank of each: by
// Slurm's distributions block, cyclic and plane, by an arbitrary placement, or by a map sent as
// text.
#pragma once

#include "mapping/layout/hostlist.h"

namespace distgpu {

// How large a step is, or may be at the most.
struct StepSize {
    std::uint32_t nodes = 0;
    std::uint32_t tasks = 0;

    bool operator==(const StepSize&) const = default;
};

// The largest numbers that are read; Slurm's own bounds lie far below.
inline constexpr StepSize max_step_size{std::uint32_t{HostList::max_hosts},
                                        (std::uint32_t{1} << 31U) - 1};

// `tasks` on each of `nodes` consecutive nodes: "4(x2),1" is {4,2},{1,1}.
struct TasksRun {
    std::uint32_t tasks = 0;
    std::uint32_t nodes = 0;

    bool operator==(const TasksRun&) const = default;
};

// Reads SLURM_STEP_TASKS_PER_NODE (or SLURM_TASKS_PER_NODE): counts separated by commas, "(xN)"
// after a count for N nodes in a row; no blanks. Errors: empty or malformed text, a zero, more
// nodes or tasks in the sum than `most` has. The object is the text, shortened to 60 characters
// around the place, with the 1-based position.
Result<std::vector<TasksRun>> parse_tasks_per_node(std::string_view text,
                                                   StepSize most = max_step_size);

// A block of the task map in the form of Flux RFC 34, [nodeid, nnodes, ppn, repeat]: tasks_per_node
// consecutive tasks on each of `nodes` nodes from `node` on, and this `repeat` times over.
// [0,3,1,2] places tasks 0..5 on nodes 0,1,2,0,1,2.
struct TaskMapBlock {
    std::uint32_t node = 0;
    std::uint32_t nodes = 0;
    std::uint32_t tasks_per_node = 0;
    std::uint32_t repeat = 0;

    bool operator==(const TaskMapBlock&) const = default;
};

// How many tasks such blocks place. Errors: no block, a zero field, a node from `node_count` on,
// more tasks than a layout holds.
Result<std::uint32_t> tasks_in(std::span<const TaskMapBlock> blocks, std::uint64_t node_count);

// How Slurm deals tasks to nodes (SLURM_DISTRIBUTION's part before ':'). Arbitrary is absent: it
// cannot be derived from counts.
struct Distribution {
    enum class Kind { block, cyclic, plane };

    Kind kind = Kind::block;
    std::uint32_t plane_size = 0;  // tasks a round, plane only: SLURM_DIST_PLANESIZE

    bool operator==(const Distribution&) const = default;
};

struct Placement {
    NodeIndex node;
    LocalRank local_rank;

    bool operator==(const Placement&) const = default;
};

// A node's tasks have local ranks in the order of their task ids, as in Slurm. Every node has at
// least one task. Immutable; memory and construction are linear in tasks and nodes, queries take
// constant or logarithmic time.
class StepLayout {
  public:
    static constexpr std::uint64_t max_nodes = max_step_size.nodes;
    // 48 MiB of placement at the most. Slurm's largest steps have some 100,000 tasks.
    static constexpr std::uint64_t max_tasks = std::uint64_t{1} << 22U;

    // Deals tasks as Slurm does (run on 22.05, 24.11 and 26.05): block fills the nodes in order,
    // cyclic deals one task a node and round, plane deals plane_size (the rest if a node lacks
    // fewer); full nodes are skipped. `tasks_per_node`: the counts of all hosts, in their order.
    // Errors: a zero count, counts for more or fewer nodes than `hosts` has, sums over the bounds,
    // plane size 0.
    static Result<StepLayout> distribute(HostList hosts, std::span<const TasksRun> tasks_per_node,
                                         Distribution distribution);

    // From a map; blocks may overlap in any way. Errors: those of tasks_in(), a node without a
    // task.
    static Result<StepLayout> from_task_map(HostList hosts,
                                            const std::vector<TaskMapBlock>& blocks);

    // Arbitrary distribution: node_of_task[t] is the node of task t, an index into `hosts`.
    // Errors: an index past `hosts`, a node without a task, more tasks than max_tasks.
    static Result<StepLayout> from_assignment(HostList hosts,
                                              std::vector<std::uint32_t> node_of_task);

    // As Slurm answers: tasks_of_nodes[n] are the tasks of node n, in any order.
    // Errors: task ids other than 0 to n-1, each once, and as from_assignment().
    static Result<StepLayout> from_task_lists(
        HostList hosts, std::span<const std::vector<std::uint32_t>> tasks_of_nodes);

    // A heterogeneous step: node indices and task ids of each component follow those of the
    // components before it. A host of two components is two nodes, as it has local ranks from 0 in
    // each. Errors: no component, sums over the bounds.
    static Result<StepLayout> from_components(std::span<const StepLayout> components);

    // The same placement, with the ranks dealt to the nodes in another order than Slurm dealt the
    // tasks. order[i] gets the ranks that the node with node rank i has now, so that cyclic stays
    // cyclic. Where it has another number of tasks, the ranks are dealt in blocks, if the tasks
    // were. Precondition: `order` names each node once.
    // Error: tasks in turns (cyclic, plane, arbitrary) on nodes with different numbers of them.
    Result<StepLayout> with_order(std::vector<NodeIndex> order) const;

    // The nodes by node rank as with_order() was told; empty: each task's rank is its id.
    std::span<const NodeIndex> order() const { return order_; }

    const HostList& hosts() const { return hosts_; }
    std::uint32_t node_count() const { return static_cast<std::uint32_t>(tasks_.first.size() - 1); }
    std::uint32_t task_count() const { return static_cast<std::uint32_t>(tasks_.node_of.size()); }
    std::uint32_t max_tasks_per_node() const { return tasks_.most; }
    std::uint32_t min_tasks_per_node() const { return tasks_.least; }

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

    // Nodes are counted by their lowest rank: that of rank 0 is 0, whichever the node list names
    // first. Precondition of these: node < node_count().
    NodeRank node_rank(NodeIndex node) const { return NodeRank{ranks().turn_of[node.value]}; }
    std::uint32_t tasks_on(NodeIndex node) const {
        return static_cast<std::uint32_t>(tasks_.of(node).size());
    }

    // The node's task ids, local rank 0 first.
    std::vector<TaskId> task_ids(NodeIndex node) const;

    // The placement as a map, in the few blocks that Slurm's distributions come to.
    std::vector<TaskMapBlock> task_map() const;

    bool operator==(const StepLayout& other) const {
        return hosts_ == other.hosts_ && tasks_.node_of == other.tasks_.node_of &&
               order_ == other.order_;
    }

  private:
    // Numbers from 0 on that are dealt to nodes: task ids, or ranks.
    struct Dealing {
        Dealing(std::vector<std::uint32_t> node_of_number, std::uint32_t nodes);

        // Those of a node, ascending.
        std::span<const std::uint32_t> of(NodeIndex node) const {
            return std::span(by_node).subspan(first[node.value],
                                              first[node.value + 1] - first[node.value]);
        }
        Placement place(std::uint32_t number) const;

        std::vector<std::uint32_t> node_of;  // by number
        std::vector<std::uint32_t> first;    // by node: where its numbers begin in by_node
        std::vector<std::uint32_t> by_node;  // the numbers, node after node
        std::vector<std::uint32_t> turn_of;  // by node: its place when ordered by lowest number
        std::uint32_t least = ~0U;           // on one node
        std::uint32_t most = 0;
    };

    StepLayout(HostList hosts, Dealing tasks)
        : hosts_(std::move(hosts)), tasks_(std::move(tasks)) {}

    const Dealing& ranks() const { return ranks_ ? *ranks_ : tasks_; }

    HostList hosts_;
    Dealing tasks_;
    std::optional<Dealing> ranks_;  // nothing: as the tasks
    std::vector<NodeIndex> order_;
};

// The framework rank of a task.
GlobalRank rank_of(const StepLayout& layout, TaskId task);

// The node that runs rank 0: its MASTER_ADDR is everybody's.
NodeIndex rank0_node(const StepLayout& layout);

}  // namespace distgpu
