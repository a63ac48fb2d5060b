// Parses the layout of a step from text: the options of `distgpu plan`.
#pragma once

#include "mapping/layout/step_layout.h"

namespace distgpu {

// The values of the options; empty if not given.
struct LayoutText {
    std::string nodelist{};        // --nodelist node[01-02]
    std::string nodes{};           // --nodes N: node1 to nodeN, instead of a list
    std::string ntasks{};          // --ntasks N: distributed as Slurm does
    std::string tasks_per_node{};  // --tasks-per-node 4(x2),1; a single number is for every node
    std::string distribution{};    // --distribution block|cyclic|plane=N|arbitrary=NODE,NODE,...

    bool operator==(const LayoutText&) const = default;
};

// Without ntasks and tasks_per_node each node has one task, as in srun; an arbitrary distribution
// names the node of each task. The objects of errors are the options as written above.
// Errors: no nodes, nodes or tasks given in both ways or malformed, a node without a task, a node
// of an arbitrary distribution that is not in the list, and those of StepLayout.
Result<StepLayout> parse_layout(const LayoutText& text);

}  // namespace distgpu
