// The layout of a step as people write it, on the command line of `distgpu plan` and in the C API.
#pragma once

#include "mapping/layout/step_layout.h"

namespace distgpu {

// The options' texts; empty where one was not given.
struct LayoutText {
    std::string nodelist{};        // --nodelist node[01-02]
    std::string nodes{};           // --nodes N: node1 to nodeN, in place of a list
    std::string ntasks{};          // --ntasks N: dealt as Slurm does
    std::string tasks_per_node{};  // --tasks-per-node 4(x2),1; one number is for every node
    std::string distribution{};    // --distribution block|cyclic|plane=N|arbitrary=NODE,NODE,...

    bool operator==(const LayoutText&) const = default;
};

// Without ntasks and tasks_per_node there is one task a node, as in srun; an arbitrary distribution
// names the node of each task. The errors' objects are the options as they stand above.
// Errors: no nodes, nodes or tasks given in both ways or not as above, a node without a task, a
// node of an arbitrary distribution that is not in the list, and those of StepLayout.
Result<StepLayout> parse_layout(const LayoutText& text);

}  // namespace distgpu
