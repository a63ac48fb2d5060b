// What srun sends to the nodes about a step, in SLURM_DISTGPU_STEP: it queries slurmctld once, so
// that no node has to. A name that begins with SLURM is passed on under every --export (seen on
// 22.05, 24.11 and 26.05). The user controls the value, so it is parsed as untrusted. Its layout is
// a line that other variables contain too, and that each node compares with what Slurm started.
#pragma once

#include "mapping/layout/step_layout.h"

#include <string_view>

namespace distgpu {

struct SentStep {
    std::uint32_t job = 0;
    std::uint32_t step = 0;
    std::optional<StepLayout> layout;  // with its node order; nullopt: the nodes derive it
    std::string rank0_address;         // NodeAddr of rank 0's node; empty if unknown
    bool refused = false;              // srun refused the request and printed why
    HostList node_addresses{};         // NodeAddr of every node, in their order; empty if unknown
    bool cpu_bind = false;             // the user gave srun --cpu-bind
    std::string plugin_file{};         // path of the plugin that srun loaded; empty if unknown
    std::uint32_t gpus = 0;            // srun --gpus, of all nodes together; 0 if not given
    bool ntasks = false;               // --ntasks or SLURM_NTASKS sets the number of tasks
    bool helper = false;               // StepFacts::is_helper
    bool debugger = false;             // srun is started by one, which attaches to the tasks
    bool derived = false;              // the layout is srun's own, slurmctld was not asked
    bool configured = false;           // so are the addresses, which are from slurm.conf

    bool operator==(const SentStep&) const = default;
};

// The limit of execve: Linux's MAX_ARG_STRLEN is 131,072 for NAME=VALUE and its NUL.
inline constexpr std::size_t max_sent_length = 131'000;

// "v2 17.0 cpu_bind gpus=6 rank0=10.0.0.1 layout=n[1-2] 0.2.4.1": a version, the step, and an item
// for each fact, the layout (layout_line()) last. Invalid addresses and paths are omitted. If the
// text gets longer than max_sent_length, the nodes' addresses are dropped first, then the layout.
std::string encode(const SentStep& step);

// The step of a node, as SPANK reports it.
struct KnownStep {
    std::uint32_t job = 0;
    std::uint32_t step = 0;
    StepSize size;  // 0 nodes: no layout is parsed
};

// Parses the output of encode(); skips items that a later release adds. nullopt for another
// version, from a newer or older srun side, and for another step: the nodes then derive the layout.
// Errors: a text that encode() does not write for a step of this size; a layout that is
// inconsistent or larger. Memory depends on the step's size, never on the numbers in the text.
Result<std::optional<SentStep>> decode(std::string_view text, const KnownStep& known);

// Whether the text is for this step and has a layout or refuses the step, so that slurmctld need
// not be queried. For root, which only compares the text and does not parse it.
bool has_layout_or_refusal(std::string_view text, std::uint32_t job, std::uint32_t step);

// One line: the nodes, the blocks of the task map ("NODE.NODES.TASKS_PER_NODE.REPEAT"), and the
// node order if there is one: "n[1,3] 0.1.2.1,1.1.1.1 n[3,1]".
std::string layout_line(const StepLayout& layout);

// Errors: malformed text; a layout that is inconsistent, has more nodes than `limit`, or many more
// tasks. Memory depends on `limit` and the line's length, never on the numbers in the line.
Result<StepLayout> read_layout_line(std::string_view line, StepSize limit = max_step_size);

// SPANK's facts about this node come from slurmctld, while a layout that was sent or derived may be
// wrong or forged. SPANK numbers nodes and tasks within a component of the step; the functions
// below convert these numbers to those of the whole step. A step that is not heterogeneous is one
// component.

// A node and its tasks, numbered within the whole step.
struct LocalTasks {
    NodeIndex node;
    std::vector<TaskId> tasks;  // in local rank order

    bool operator==(const LocalTasks&) const = default;
};

// Describes how the layout differs from these tasks on this node; nullopt if it has exactly them,
// in this order.
std::optional<Error> check_layout(const StepLayout& layout, const LocalTasks& started);

// nullopt if the layout has this size.
std::optional<Error> check_size(const StepLayout& layout, StepSize started);

// A task's number in its component, 0-based: S_JOB_LOCAL_TO_GLOBAL_ID.
using ComponentTaskId = StrongId<struct ComponentTaskTag>;

// A node's position in its component's node list, 0-based: S_JOB_NODEID.
using ComponentNode = StrongId<struct ComponentNodeTag>;

struct ComponentTasks {
    ComponentNode node;
    std::vector<ComponentTaskId> tasks;  // in local rank order

    bool operator==(const ComponentTasks&) const = default;
};

// The number of nodes and tasks in the components before this one.
struct ComponentOffset {
    std::uint32_t nodes = 0;
    std::uint32_t tasks = 0;

    bool operator==(const ComponentOffset&) const = default;
};

// Computes the offset from the numbers of this node and one of its tasks in the whole step; nullopt
// if they are smaller than those in the component. Precondition: the component has task `local`.
std::optional<ComponentOffset> component_offset(const ComponentTasks& component, LocalRank local,
                                                NodeIndex node, TaskId task);

// The possible offsets of the component in the whole step: those at which `whole` has exactly these
// tasks on this node. If the node is called `host` at some of them, only these. There are several
// if components of equal shape share a node.
std::vector<ComponentOffset> possible_offsets(const StepLayout& whole,
                                              const ComponentTasks& component,
                                              const std::string& host);

// Converts the numbers of a component to those of the whole step.
LocalTasks to_whole_step(const ComponentTasks& component, ComponentOffset before);

}  // namespace distgpu
