// A task, and what the record of a framework makes of it.
#pragma once

#include "mapping/frameworks/framework.h"
#include "mapping/layout/step_layout.h"
#include "mapping/spec/parse_spec.h"

#include <gtest/gtest.h>

#include <map>

namespace distgpu {

using Values = std::map<std::string, std::string>;

// Task 6 of 8, number 2 of 4 on node 1 of 3: no two facts look alike.
inline TaskContext sample_task() {
    TaskContext task;
    task.rank = GlobalRank{6};
    task.world_size = 8;
    task.local_rank = LocalRank{2};
    task.local_world_size = 4;
    task.node_rank = NodeRank{1};
    task.node_count = 3;
    task.node_name = "node02";
    task.reachable_address = "10.0.0.2";
    task.master_address = "node01";
    task.master_port = 29500;
    task.processes_per_node = 5;
    task.step_name = "4242.7";
    return task;
}

inline Values values(const Framework& framework, const TaskContext& task) {
    Values result;
    for (const SetVariable& variable : framework.sets) {
        if (const auto value = variable.value(task)) result[std::string(variable.name)] = *value;
    }
    return result;
}

inline std::vector<std::string> unset_patterns(const Framework& framework) {
    std::vector<std::string> names;
    for (const UnsetVariable& variable : framework.unsets) names.emplace_back(variable.name);
    return names;
}

// A SPEC, and tasks dealt out in blocks over hosts, as "4(x2),1".
struct SampleStep {
    SampleStep(const char* spec, const char* hosts, const char* counts)
        : request(*parse_spec("--distgpu", spec)),
          layout(
              *StepLayout::distribute(*HostList::parse(hosts), *parse_tasks_per_node(counts), {})) {
        addresses = layout.hosts();
    }

    StepView view() const { return {request, layout, facts, addresses}; }
    std::optional<Error> refusal() const { return request.framework->refuse(view()); }

    Request request;
    StepLayout layout;
    StepFacts facts;
    HostList addresses;
};

// The refusal of a step, as the user sees it; empty: it is not refused.
inline std::string refusal_of(const SampleStep& step) {
    const auto error = step.refusal();
    return error ? error->message() : "";
}

}  // namespace distgpu
