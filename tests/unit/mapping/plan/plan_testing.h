// What the tests of plan() share: short ways to its inputs, and a task's variables by name.
#pragma once

#include "mapping/plan/plan.h"
#include "mapping/spec/parse_spec.h"

#include <gtest/gtest.h>

#include <map>

namespace distgpu::plan_testing {

using Values = std::map<std::string, std::string>;

inline HostList hosts(const char* text) {
    auto list = HostList::parse(text);
    EXPECT_TRUE(list) << text;
    return list ? *list : HostList{};
}

// From a task map: [nodeid, nnodes, ppn, repeat], ...
inline StepLayout layout(const char* host_list, std::vector<TaskMapBlock> map) {
    auto result = StepLayout::from_task_map(hosts(host_list), std::move(map));
    EXPECT_TRUE(result) << host_list;
    return *std::move(result);
}

inline Request request(const char* spec) {
    auto result = parse_spec("--distgpu", spec);
    EXPECT_TRUE(result) << spec;
    return result ? *result : Request{};
}

// Step 0 of job 4242.
inline Step step_of(const StepLayout& step_layout) {
    Step result{step_layout};
    result.rendezvous.step = {4242, 0, 0};
    return result;
}

inline NodePlan planned(const char* spec, const StepLayout& step, std::uint32_t node,
                        NodeFacts node_facts = {}) {
    node_facts.node = NodeIndex{node};
    auto result = plan(request(spec), step_of(step), node_facts);
    EXPECT_TRUE(result) << spec;
    return result ? *std::move(result) : NodePlan{};
}

inline Values values(const TaskPlan& task) {
    return {task.set.begin(), task.set.end()};
}

// One variable of every task of a node, by local rank; "-" where a task does not get it.
inline std::vector<std::string> of_all(const NodePlan& node, const char* variable) {
    std::vector<std::string> all;
    for (const TaskPlan& task : node.tasks) {
        const Values set = values(task);
        const auto found = set.find(variable);
        all.push_back(found == set.end() ? "-" : found->second);
    }
    return all;
}

inline std::vector<std::string> messages(const std::vector<Error>& errors) {
    std::vector<std::string> lines;
    for (const Error& error : errors) lines.push_back(error.message());
    return lines;
}

}  // namespace distgpu::plan_testing
