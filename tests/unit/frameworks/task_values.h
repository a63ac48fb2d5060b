// One task's facts, each number different, and what a framework makes of them.
#pragma once

#include <distgpu/framework.h>

#include <map>
#include <string>
#include <vector>

namespace distgpu {

using Values = std::map<std::string, std::string>;

// Task 6 of 8, number 2 of 4 on node 1 of 3: no two facts look alike.
inline TaskContext sample_task() {
    TaskContext task;
    task.rank = GlobalRank{6};
    task.world_size = 8;
    task.local_rank = LocalId{2};
    task.local_world_size = 4;
    task.node_rank = NodeRank{1};
    task.node_count = 3;
    task.node_name = "node02";
    task.master_address = "node01";
    task.master_port = 29500;
    task.processes_per_node = 5;
    task.step_name = "4242.7";
    return task;
}

inline Values values(const Framework& framework, const TaskContext& task) {
    Values result;
    for (const SetVariable& variable : framework.sets) {
        result[std::string(variable.name)] = variable.value(task);
    }
    return result;
}

inline std::vector<std::string> unset_patterns(const Framework& framework) {
    std::vector<std::string> names;
    for (const UnsetVariable& variable : framework.unsets) names.emplace_back(variable.name);
    return names;
}

}  // namespace distgpu
