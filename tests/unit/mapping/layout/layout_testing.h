// What the tests of folder layout share: short ways to inputs, the expanded form of results, and a
// seeded source of random cases.
#pragma once

#include "mapping/layout/step_layout.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>

namespace distgpu::layout_testing {

using Names = std::vector<std::string>;
using Nodes = std::vector<std::uint32_t>;  // the node of every task

inline HostList hosts(const std::string& text) {
    auto list = HostList::parse(text);
    EXPECT_TRUE(list) << text;
    return list ? *list : HostList{};
}

inline Names expand(const HostList& list) {
    Names names;
    for (std::uint32_t i = 0; i < list.size(); ++i) names.push_back(list.name(NodeIndex{i}));
    return names;
}

inline HostList hosts(std::size_t count) {
    return hosts("n[1-" + std::to_string(count) + "]");
}

inline std::vector<TasksRun> counts(const std::string& text) {
    auto runs = parse_tasks_per_node(text);
    EXPECT_TRUE(runs) << text;
    return runs ? *runs : std::vector<TasksRun>{};
}

// By place().
inline Nodes placed(const StepLayout& layout) {
    Nodes nodes;
    for (std::uint32_t t = 0; t < layout.task_count(); ++t) {
        nodes.push_back(layout.place(TaskId{t}).node.value);
    }
    return nodes;
}

// Numbers that are the same in every run, so that a failure repeats.
class Random {
  public:
    // 0 ... n - 1
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
    std::mt19937& engine() { return engine_; }

  private:
    std::mt19937 engine_{20240607};  // NOLINT(cert-msc32-c,cert-msc51-cpp)
};

}  // namespace distgpu::layout_testing
