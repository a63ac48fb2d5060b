// Which node and which local rank every task of a step has: Slurm's block, cyclic
// and plane distributions, arbitrary placements, and maps carried as text, in a
// form whose size does not grow with the number of tasks.
#pragma once

#include "base/result.h"
#include "mapping/layout/hostlist.h"
#include "mapping/layout/ids.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace distgpu {

// How large a step is, or may be at the most.
struct StepSize {
    std::uint32_t nodes = 0;
    std::uint32_t tasks = 0;

    bool operator==(const StepSize&) const = default;
};

// The largest that a layout holds; Slurm's own bounds lie far below.
inline constexpr StepSize max_step_size{std::uint32_t{HostList::max_hosts},
                                        (std::uint32_t{1} << 31U) - 1};

// `tasks` on each of `nodes` consecutive nodes: "4(x2),1" is {4,2},{1,1}.
struct TasksRun {
    std::uint32_t tasks = 0;
    std::uint32_t nodes = 0;

    bool operator==(const TasksRun&) const = default;
};

// Reads SLURM_STEP_TASKS_PER_NODE (or SLURM_TASKS_PER_NODE): counts separated by
// commas, "(xN)" after a count for N nodes in a row; no blanks. The runs come
// back as written, in the order of the step's node list.
// Errors: empty or malformed text, a zero, more nodes or tasks in the sum than
// `most` has. The object is the text, shortened to 60 characters around the
// place, with the 1-based position.
Result<std::vector<TasksRun>> parse_tasks_per_node(std::string_view text,
                                                   StepSize most = max_step_size);

// A block of the task map in the form of Flux RFC 34,
// [nodeid, nnodes, ppn, repeat]: tasks_per_node consecutive tasks on each of
// `nodes` nodes from `node` on, and this `repeat` times over. [0,3,1,2] places
// tasks 0..5 on nodes 0,1,2,0,1,2.
struct TaskMapBlock {
    std::uint32_t node = 0;
    std::uint32_t nodes = 0;
    std::uint32_t tasks_per_node = 0;
    std::uint32_t repeat = 0;

    bool operator==(const TaskMapBlock&) const = default;
};

// How Slurm deals tasks to nodes (SLURM_DISTRIBUTION's part before ':').
// Arbitrary is absent: it cannot be derived from counts, it comes as a task map
// or as a node per task.
struct Distribution {
    enum class Kind { block, cyclic, plane };

    Kind kind = Kind::block;
    std::uint32_t plane_size = 0;  // tasks a round, plane only: SLURM_DIST_PLANESIZE

    bool operator==(const Distribution&) const = default;
};

// Where a task runs.
struct Placement {
    NodeIndex node;
    LocalRank local_rank;

    bool operator==(const Placement&) const = default;
};

// The tasks of one node inside one block of the map: `repeat` groups of `count`
// consecutive task ids, each group `stride` after the one before. Local ranks run
// on from first_local without a gap: member i of group g is task
// first + g * stride + i with local rank first_local + g * count + i.
struct TaskRun {
    TaskId first;
    LocalRank first_local;
    std::uint32_t count = 0;
    std::uint32_t stride = 0;
    std::uint32_t repeat = 0;

    bool operator==(const TaskRun&) const = default;
};

// The placement of every task of a step, and the framework's rank of each. A node's tasks have
// local ranks in the order of their task ids, as in Slurm. Every node has at least one task.
// Immutable; memory and construction are bound to the number of blocks of the
// map (constant for block, cyclic and plane over equal counts), not to nodes or
// tasks. Layouts with equal hosts and equal maps compare equal; one placement
// can have several maps, so different maps do not prove different placements.
class StepLayout {
  public:
    static constexpr std::uint64_t max_nodes = max_step_size.nodes;
    static constexpr std::uint64_t max_tasks = max_step_size.tasks;
    // 48 MiB of map and index at the most; a launch's text carries about 13,000.
    static constexpr std::size_t max_blocks = std::size_t{1} << 20U;

    // Deals tasks as Slurm does (run on 22.05, 24.11 and 26.05): block fills the
    // nodes in order, cyclic deals one task a node and round, plane deals
    // plane_size (the rest if a node lacks fewer); full nodes are skipped.
    // `tasks_per_node`: the counts of all hosts, in their order.
    // Cyclic and plane over counts that differ take a block per round and
    // contiguous stretch of nodes that are not full yet.
    // Errors: a zero count, counts for more or fewer nodes than `hosts` has,
    // sums over the bounds, plane size 0, more than max_blocks blocks.
    static Result<StepLayout> distribute(HostList hosts, std::span<const TasksRun> tasks_per_node,
                                         Distribution distribution);

    // Takes a map from text that a user controls. Blocks may overlap in any way.
    // Errors: no block, a zero field, a node past the end of `hosts`, a node
    // without a task, sums over the bounds, more than max_blocks blocks.
    static Result<StepLayout> from_task_map(HostList hosts, std::vector<TaskMapBlock> blocks);

    // Arbitrary distribution: node_of_task[t] is the node of task t, an index
    // into `hosts`. Errors: as from_task_map().
    static Result<StepLayout> from_assignment(HostList hosts,
                                              std::span<const std::uint32_t> node_of_task);

    // As Slurm answers: tasks_of_nodes[n] are the tasks of node n, in any order.
    // Errors: task ids other than 0 to n-1, each once, and as from_task_map().
    static Result<StepLayout> from_task_lists(
        HostList hosts, std::span<const std::vector<std::uint32_t>> tasks_of_nodes);

    // A heterogeneous step: node indices and task ids of each component follow
    // those of the components before it. A host of two components is two nodes,
    // as it has local ranks from 0 in each.
    // Errors: no component, sums over the bounds.
    static Result<StepLayout> from_components(std::span<const StepLayout> components);

    // The same placement, with the ranks dealt to the nodes in another order than Slurm dealt the
    // tasks. order[i] gets the ranks that the node with node rank i has now, so that cyclic stays
    // cyclic. Where it has another number of tasks, the ranks are dealt in blocks, if the tasks
    // were. Precondition: `order` names each node once.
    // Errors: more blocks than 131,072; tasks in turns (cyclic, plane, arbitrary) on nodes with
    // different numbers of them.
    Result<StepLayout> with_order(std::vector<NodeIndex> order) const;

    // The nodes by node rank as with_order() was told; empty: each task's rank is its id.
    std::span<const NodeIndex> order() const { return order_; }

    const HostList& hosts() const { return hosts_; }
    std::uint32_t node_count() const { return node_count_; }
    std::uint32_t task_count() const { return task_count_; }
    std::uint32_t max_tasks_per_node() const { return max_on_a_node_; }
    std::uint32_t min_tasks_per_node() const { return min_on_a_node_; }

    // Precondition: task < task_count(). Cost: logarithmic in blocks; where the
    // nodes of the task's block held different numbers of tasks before it (only
    // maps and assignments have such blocks) plus the blocks on that node.
    Placement place(TaskId task) const;
    Placement place(GlobalRank rank) const;

    // The inverse of place(). Preconditions: node < node_count(),
    // local_rank < tasks_on(node). Cost: logarithmic in blocks, plus b * log b
    // for the b blocks on that node; so are the next two.
    TaskId task(NodeIndex node, LocalRank local_rank) const;
    GlobalRank rank(NodeIndex node, LocalRank local_rank) const;

    // Nodes are counted by their lowest rank: that of rank 0 is 0, whichever the node list names
    // first.
    NodeRank node_rank(NodeIndex node) const;

    // Precondition of both: node < node_count(). tasks_of: in the order of local
    // ranks, which is that of task ids.
    std::uint32_t tasks_on(NodeIndex node) const;
    std::vector<TaskRun> tasks_of(NodeIndex node) const;

    // tasks_of() written out: the node's task ids, local rank 0 first.
    std::vector<TaskId> task_ids(NodeIndex node) const;

    // How many nodes hold at least one of the tasks before this one. Precondition:
    // task < task_count(). Cost: b * log b for the b blocks that begin before it.
    std::uint32_t nodes_before(TaskId task) const;

    // The map, compressed. from_task_map() makes an equal layout of it. Valid
    // for this object's lifetime.
    std::span<const TaskMapBlock> task_map() const { return blocks_; }

    // The rest follows from these.
    bool operator==(const StepLayout& other) const {
        return hosts_ == other.hosts_ && blocks_ == other.blocks_ && order_ == other.order_;
    }

  private:
    // What place() needs of a block besides the map.
    struct BlockStart {
        std::uint32_t first_task = 0;
        std::uint32_t first_local = 0;  // on each of its nodes, if equal_before
        bool equal_before = true;       // its nodes held equally many tasks before it

        bool operator==(const BlockStart&) const = default;
    };

    StepLayout() = default;

    static Result<StepLayout> assemble(HostList hosts, std::vector<TaskMapBlock> blocks);
    std::uint32_t build_node_tree(std::size_t begin, std::size_t end);
    void collect_blocks(NodeIndex node, std::size_t begin, std::size_t end,
                        std::vector<std::uint32_t>& found) const;
    std::vector<std::uint32_t> blocks_of(NodeIndex node) const;

    HostList hosts_;
    std::uint32_t node_count_ = 0;
    std::uint32_t task_count_ = 0;
    std::uint32_t max_on_a_node_ = 0;
    std::uint32_t min_on_a_node_ = 0;
    std::vector<TaskMapBlock> blocks_;
    std::vector<BlockStart> starts_;  // of the block with the same index
    // Block indices sorted by first node: an implicit interval tree whose root
    // is the middle; reach_ is the largest end of the subtree's blocks.
    std::vector<std::uint32_t> by_node_;
    std::vector<std::uint32_t> reach_;
    // With an order of the nodes: also its inverse, and the layout whose task ids are the ranks.
    std::vector<NodeIndex> order_;
    std::vector<NodeRank> node_ranks_;
    std::shared_ptr<const StepLayout> by_rank_;
};

}  // namespace distgpu
