// Whether a layout is the one that Slurm started: what SPANK says of this node comes from
// slurmctld, while a layout that was sent or derived may be wrong or forged. SPANK numbers nodes
// and tasks within a component of the step; here these numbers become the step's. A step that is
// not heterogeneous is one component.
#pragma once

#include "base/result.h"
#include "mapping/layout/ids.h"
#include "mapping/layout/step_layout.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

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
