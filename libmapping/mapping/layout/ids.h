// Numbers that must never be swapped, each as a type of its own.
#pragma once

#include <compare>
#include <cstdint>

namespace distgpu {

template <class Tag>
struct StrongId {
    std::uint32_t value = 0;

    auto operator<=>(const StrongId&) const = default;
};

// Slurm's number of a task in its whole step, all components counted, from 0: SLURM_PROCID.
using TaskId = StrongId<struct TaskIdTag>;

// A task's number among the tasks of its node, 0-based: SLURM_LOCALID.
using LocalRank = StrongId<struct LocalRankTag>;

// A node's position in the step's node list, 0-based: SLURM_NODEID.
using NodeIndex = StrongId<struct NodeIndexTag>;

// A task's number in the framework's world, 0-based: RANK. Equal to the task id unless the user
// chose an order of the nodes (order=), while MPI's own rank always stays Slurm's.
using GlobalRank = StrongId<struct GlobalRankTag>;

// A node's number in the framework's world, 0-based: NODE_RANK. Its place when nodes are ordered by
// their lowest rank, so rank 0's node is node rank 0 (torch's static rendezvous listens there),
// also where Slurm put task 0 on another node than the list's first.
using NodeRank = StrongId<struct NodeRankTag>;

}  // namespace distgpu
