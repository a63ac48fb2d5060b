// Distinct types for numbers that must not be confused.
#pragma once

#include <compare>
#include <cstdint>

namespace distgpu {

template <class Tag>
struct StrongId {
    std::uint32_t value = 0;

    auto operator<=>(const StrongId&) const = default;
};

// Slurm's number of a task in the whole step, across all components, from 0: SLURM_PROCID.
using TaskId = StrongId<struct TaskIdTag>;

// A task's number among the tasks of its node, 0-based: SLURM_LOCALID.
using LocalRank = StrongId<struct LocalRankTag>;

// A node's position in the step's node list, 0-based: SLURM_NODEID.
using NodeIndex = StrongId<struct NodeIndexTag>;

// A task's number in the framework's world, 0-based: RANK. Equal to the task id unless the user
// chose a node order (order=). MPI's rank is always the task id.
using GlobalRank = StrongId<struct GlobalRankTag>;

// A node's number in the framework's world, 0-based: NODE_RANK. Nodes are numbered by their lowest
// ranks, so that rank 0's node has node rank 0 (torch's static rendezvous listens there), even if
// Slurm put task 0 on another node than the first of the list.
using NodeRank = StrongId<struct NodeRankTag>;

}  // namespace distgpu
