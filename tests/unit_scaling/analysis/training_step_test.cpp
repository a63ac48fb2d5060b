#include "analysis/training_step.h"

#include "made_up_results.h"

#include <gtest/gtest.h>

#include <optional>

namespace distgpu::scaling {
namespace {

// One and two nodes of two ranks. 16 B take 1 s on one node and 2 s on two, 64 B 4 s and 8 s.
Results measured() {
    auto results = made_up_results(2, 2);
    for (const std::uint32_t nodes : {1U, 2U}) {
        const auto group = add_nodes(results, nodes);
        add_measurement(results, group, {.bytes = 16, .seconds = 1.0 * nodes});
        add_measurement(results, group, {.bytes = 64, .seconds = 4.0 * nodes});
    }
    return results;
}

std::optional<double> seconds(const Results& results, std::uint64_t bytes) {
    return collective_seconds(results, 0, Collective::all_reduce, bytes);
}

// 32 is half of the way from 16 to 64 on a logarithmic axis, 2 half of the way from 1 to 4.
TEST(CollectiveSeconds, BetweenTwoSizesOnTheLogarithmicLine) {
    EXPECT_DOUBLE_EQ(*seconds(measured(), 16), 1);
    EXPECT_DOUBLE_EQ(*seconds(measured(), 32), 2);
    EXPECT_DOUBLE_EQ(*seconds(measured(), 64), 4);
}

TEST(CollectiveSeconds, NothingIsExtrapolated) {
    EXPECT_EQ(seconds(measured(), 15), std::nullopt);
    EXPECT_EQ(seconds(measured(), 65), std::nullopt);
    EXPECT_EQ(collective_seconds(measured(), 0, Collective::all_gather, 16), std::nullopt);
    EXPECT_EQ(collective_seconds(measured(), 7, Collective::all_reduce, 16), std::nullopt);
}

TEST(CollectiveSeconds, OfTheFirstTypeOutOfPlace) {
    auto results = made_up_results(1, 2);
    add_nodes(results, 1);
    add_measurement(results, 0, {.in_place = true, .bytes = 16, .seconds = 9});
    add_measurement(results, 0, {.type = DataType::f16, .bytes = 16, .seconds = 1});
    add_measurement(results, 0, {.bytes = 16, .seconds = 7});
    EXPECT_DOUBLE_EQ(*seconds(results, 16), 1);
    results.measurements.resize(1);
    EXPECT_DOUBLE_EQ(*seconds(results, 16), 9);
}

// Compute of 4 s and twice 1 s are 6 s on one node. On two, twice 2 s: 4 + 4 s with the same
// compute, 2 + 4 s with half of it. E_w = 6 / 8; E_s = 1 * 6 / (2 * 6).
TEST(StepScaling, WeakAndStrong) {
    const auto scaling = step_scaling(measured(), {"", 4, {{Collective::all_reduce, 16, 2}}});
    ASSERT_EQ(scaling.weak.size(), 2U);
    EXPECT_DOUBLE_EQ(scaling.weak[0].efficiency, 1);
    EXPECT_DOUBLE_EQ(scaling.weak[1].efficiency, 0.75);
    EXPECT_DOUBLE_EQ(scaling.strong[1].efficiency, 0.5);
}

TEST(StepScaling, AllPartsMustBeMeasured) {
    const TrainingStep step{
        "", 4, {{Collective::all_reduce, 16, 1}, {Collective::all_gather, 16, 1}}};
    EXPECT_TRUE(step_scaling(measured(), step).weak.empty());
}

// Two nodes of one rank each: 2 s on them, none on one.
TEST(StepScaling, OneGpuNeedsNoCommunication) {
    auto results = made_up_results(2, 1);
    add_measurement(results, add_nodes(results, 2), {.bytes = 16, .seconds = 2});
    const auto scaling = step_scaling(results, {"", 4, {{Collective::all_reduce, 16, 1}}});
    ASSERT_EQ(scaling.weak.size(), 2U);
    EXPECT_DOUBLE_EQ(scaling.weak[0].seconds, 4);
    EXPECT_DOUBLE_EQ(scaling.weak[1].seconds, 6);
}

}  // namespace
}  // namespace distgpu::scaling
