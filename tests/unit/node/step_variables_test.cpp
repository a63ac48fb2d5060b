// A layout on its way from the plugin to a command inside a task.
#include "node/step_variables.h"

#include "map_environment.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace distgpu {
namespace {

const std::string name = "SLURM_DISTGPU_LAYOUT";

MapEnvironment in_step(const char* step) {
    return MapEnvironment({{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_ID", step}});
}

StepLayout arbitrary(const std::vector<std::uint32_t>& node_of_task) {
    auto hosts = HostList::parse("n[1,3]");
    return *StepLayout::from_assignment(*std::move(hosts), node_of_task);
}

std::string refusal_of(const std::string& text) {
    MapEnvironment environment = in_step("0");
    environment.set(name, text);
    const auto layout = handed_layout(environment);
    if (!layout) return "none";
    return *layout ? "taken" : layout->error().message();
}

TEST(HandedLayout, ArrivesInTheStepThatItIsOf) {
    MapEnvironment environment = in_step("0");
    const StepLayout layout = arbitrary({1, 0, 1});
    hand_on_layout(environment, layout);
    EXPECT_EQ(environment.get(name), "17.0 n[1,3] 1.1.1.1,0.2.1.1");
    const auto arrived = handed_layout(environment);
    ASSERT_TRUE(arrived && *arrived);
    EXPECT_EQ(**arrived, layout);
}

// Also of a layout that the variables tell.
TEST(HandedLayout, HoldsTheOrderOfTheNodes) {
    MapEnvironment environment = in_step("0");
    environment.set("SLURM_STEP_NODELIST", "n[1,3]");
    environment.set("SLURM_STEP_TASKS_PER_NODE", "2,1");
    const StepLayout layout = *arbitrary({0, 0, 1}).with_order({NodeIndex{1}, NodeIndex{0}});
    hand_on_layout(environment, layout);
    EXPECT_EQ(environment.get(name), "17.0 n[1,3] 0.1.2.1,1.1.1.1 n[3,1]");
    const auto arrived = handed_layout(environment);
    ASSERT_TRUE(arrived && *arrived);
    EXPECT_EQ(**arrived, layout);
}

TEST(HandedLayout, IsNotThatOfAStepInside) {
    MapEnvironment environment = in_step("0");
    hand_on_layout(environment, arbitrary({1, 0, 1}));
    for (const char* step : {"1", "01", ""}) {
        environment.set("SLURM_STEP_ID", step);
        EXPECT_FALSE(handed_layout(environment)) << step;
    }
}

// Even in the order of the names: its tasks cannot know that from 26.05 on.
TEST(HandedLayout, HoldsABlockStepWhoseOrderIsTheTopologys) {
    MapEnvironment environment = in_step("0");
    environment.set("SLURM_STEP_NODELIST", "n[1,3]");
    environment.set("SLURM_STEP_TASKS_PER_NODE", "2,1");
    hand_on_layout(environment, arbitrary({0, 0, 1}));
    EXPECT_FALSE(environment.get(name));
    environment.set("SLURM_JOB_SLUID", "sFZDM816855K00");
    hand_on_layout(environment, arbitrary({0, 0, 1}));
    EXPECT_EQ(environment.get(name), "17.0 n[1,3] 0.1.2.1,1.1.1.1");
}

TEST(HandedLayout, IsLeftOutWhereTheVariablesTellIt) {
    MapEnvironment environment = in_step("0");
    environment.set("SLURM_STEP_NODELIST", "n[1,3]");
    environment.set("SLURM_STEP_TASKS_PER_NODE", "2,1");
    environment.set("SLURM_DISTRIBUTION", "cyclic");
    environment.set(name, "17.0 of a step outside");
    hand_on_layout(environment, arbitrary({0, 1, 0}));
    EXPECT_FALSE(environment.get(name));
    // The same counts, in another order.
    hand_on_layout(environment, arbitrary({0, 0, 1}));
    EXPECT_TRUE(environment.get(name));
}

TEST(HandedLayout, ThatNoVariableCouldHoldIsLeftOut) {
    MapEnvironment environment = in_step("0");
    std::vector<std::uint32_t> tasks;
    std::uint32_t random = 1;
    for (std::uint32_t task = 0; task < 60'000; ++task) {
        random = random * 1664525 + 1013904223;
        tasks.push_back(random >> 31U);
    }
    hand_on_layout(environment, arbitrary(tasks));
    EXPECT_FALSE(environment.get(name));
}

TEST(HandedLayout, ThatSomebodyElseWroteIsRefused) {
    EXPECT_EQ(refusal_of("17.0 n[1,3] 0.2.1.1"), "taken");
    EXPECT_EQ(refusal_of("17.1 n[1,3] 0.2.1.1"), "none");
    for (const char* text : {"17.0 ", "17.0 n1", "17.0 n1 0.1.1", "17.0 n1 0.1.1.1.1",
                             "17.0 n1 0.1.1.", "17.0 n1 0.1.1.-1", "17.0 n1 0.1.1.1,x"}) {
        const std::string message = refusal_of(text);
        EXPECT_EQ(message.find("distgpu: SLURM_DISTGPU_LAYOUT: "), 0U) << message;
        EXPECT_NE(message.find("; unset SLURM_DISTGPU_LAYOUT"), std::string::npos) << message;
    }
    for (const char* text : {"17.0 n[1,3] 0.2.1.1 n1", "17.0 n[1,3] 0.2.1.1 n[1,3,5]",
                             "17.0 n[1,3] 0.2.1.1 ", "17.0 n[1,3] 0.2.1.1 n[1,1]"}) {
        EXPECT_NE(refusal_of(text), "taken") << text;
    }
    // More tasks, or nodes, than a step can have.
    for (const char* text : {"17.0 n1 0.1.4294967295.1", "17.0 n1 0.2.1.1", "17.0 n[ 0.1.1.1"}) {
        EXPECT_NE(refusal_of(text), "taken") << text;
    }
}

}  // namespace
}  // namespace distgpu
