// What srun tells the nodes about a step, as one value of SLURM_DISTGPU_STEP: it asked slurmctld
// once, so that no node has to. A name that begins with SLURM arrives under every --export (seen on
// 22.05, 24.11 and 26.05). The value is under the user's control and is read so. Its layout is a
// line that other variables hold too, and that each node compares with what Slurm started.
#pragma once

#include "mapping/layout/step_layout.h"

#include <string_view>

namespace distgpu {

struct SentStep {
    std::uint32_t job = 0;
    std::uint32_t step = 0;
    std::optional<StepLayout> layout;  // with the order of its nodes; absent: the nodes derive it
    std::string rank0_address;         // NodeAddr of rank 0's node; empty: not known
    bool refused = false;              // srun found the request impossible and said so
    HostList node_addresses{};         // NodeAddr of every node, in their order; empty: not known
    bool cpu_bind = false;             // the user gave srun --cpu-bind
    std::string plugin_file{};         // that srun loaded, for who has to name it; empty: not known
    std::uint32_t gpus = 0;            // srun --gpus, of all nodes together; 0: not given
    bool ntasks = false;               // --ntasks or SLURM_NTASKS says how many tasks there are
    bool helper = false;               // StepFacts::is_helper

    bool operator==(const SentStep&) const = default;
};

// The longest that execve takes: Linux's MAX_ARG_STRLEN is 131,072 for NAME=VALUE and its NUL.
inline constexpr std::size_t max_sent_length = 131'000;

// "v2 17.0 cpu_bind gpus=6 rank0=10.0.0.1 layout=n[1-2] 0.2.4.1": a version, the step, and a word
// for each fact, the layout (layout_line()) last. Without an address or a plugin's path that is
// none, without the nodes' addresses and then without the layout where they make it longer than
// max_sent_length.
std::string encode(const SentStep& step);

// The step of a node, as SPANK tells it.
struct KnownStep {
    std::uint32_t job = 0;
    std::uint32_t step = 0;
    StepSize size;  // nothing in it: no layout is read
};

// Reads what encode() wrote; words that a later release adds are passed over. Nothing for another
// version, which a newer or older srun side may send, and for another step: the nodes then derive.
// Error: not what encode() writes for a step of this size, a layout that contradicts itself or is
// larger. Memory is bound to the step's size, never to what the text claims.
Result<std::optional<SentStep>> decode(std::string_view text, const KnownStep& known);

// Whether the text is of this step, and either names a layout or refuses the step, so that nobody
// has to ask. For root, who compares it and reads nothing.
bool settles_layout(std::string_view text, std::uint32_t job, std::uint32_t step);

// One line: the nodes, the blocks of the task map ("NODE.NODES.TASKS_PER_NODE.REPEAT"), and the
// order of the nodes where somebody chose one: "n[1,3] 0.1.2.1,1.1.1.1 n[3,1]".
std::string layout_line(const StepLayout& layout);

// Errors: no such line; a layout that contradicts itself, has more nodes than `most`, or many more
// tasks. Memory is bound to `most` and to the line's length, never to what its numbers claim.
Result<StepLayout> read_layout_line(std::string_view line, StepSize most = max_step_size);

// What SPANK says of this node comes from slurmctld, while a layout that was sent or derived may be
// wrong or forged. SPANK numbers nodes and tasks within a component of the step; here these numbers
// become the step's. A step that is not heterogeneous is one component.

// This node in the whole step, heterogeneous components counted in.
struct LocalTasks {
    NodeIndex node;
    std::vector<TaskId> tasks;  // in local rank order

    bool operator==(const LocalTasks&) const = default;
};

// Nothing when the layout has exactly these tasks on this node, in this order;
// else which of the two differs, and how.
std::optional<Error> check_layout(const StepLayout& layout, const LocalTasks& started);

// Nothing when the layout has this size.
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

// How many nodes and tasks the components before this one have.
struct ComponentOffset {
    std::uint32_t nodes = 0;
    std::uint32_t tasks = 0;

    bool operator==(const ComponentOffset&) const = default;
};

// From the numbers that this node and one of its tasks have in the whole step. Nothing: they are
// less than those in the component. Precondition: `local` is one of the component's tasks.
std::optional<ComponentOffset> offset_of(const ComponentTasks& component, LocalRank local,
                                         NodeIndex node, TaskId task);

// Where the component can stand in the whole step: after so many whole nodes of `whole` that the
// next ones have just these tasks on this node. Where a node of the name `host` is among them, only
// there. More than one: components of one shape that share a node.
std::vector<ComponentOffset> possible_offsets(const StepLayout& whole,
                                              const ComponentTasks& component,
                                              const std::string& host);

LocalTasks in_step(const ComponentTasks& component, ComponentOffset before);

}  // namespace distgpu
