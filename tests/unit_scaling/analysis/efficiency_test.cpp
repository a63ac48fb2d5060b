// Efficiencies of cases that are known without computing them.
#include "analysis/efficiency.h"

#include "made_up_results.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace distgpu::scaling {
namespace {

std::vector<double> efficiencies(Scaling scaling, std::vector<NodesTime> times) {
    const auto points = scaling_efficiency(scaling, std::move(times));
    std::vector<double> values;
    if (!points) return values;
    for (const auto& point : *points) values.push_back(point.efficiency);
    return values;
}

TEST(ScalingEfficiency, TheGuidesLinearCase) {
    // 100 s on one machine, 50 s on two, 25 s on four.
    EXPECT_EQ(efficiencies(Scaling::strong, {{1, 100}, {2, 50}, {4, 25}}),
              (std::vector<double>{1, 1, 1}));
}

TEST(ScalingEfficiency, OneSecondThatIsNotHidden) {
    // 100 s / 8 and 1 s more: 12.5 of 13.5.
    const auto values = efficiencies(Scaling::strong, {{8, 13.5}, {1, 100}});
    ASSERT_EQ(values.size(), 2);
    EXPECT_NEAR(values[1], 0.926, 0.0005);
    EXPECT_DOUBLE_EQ(values[1], 12.5 / 13.5);
}

TEST(ScalingEfficiency, WeakIsTheRatioOfTimes) {
    EXPECT_EQ(efficiencies(Scaling::weak, {{1, 10}, {8, 10}, {16, 12.5}}),
              (std::vector<double>{1, 1, 0.8}));
}

TEST(ScalingEfficiency, TheFewestNodesAreTheBaseline) {
    // 2 nodes 50 s, 8 nodes 20 s: linear would be 12.5.
    EXPECT_EQ(efficiencies(Scaling::strong, {{8, 20}, {2, 50}}), (std::vector<double>{1, 0.625}));
}

TEST(ScalingEfficiency, PointsCarryTheirTimesInOrder) {
    const auto points = scaling_efficiency(Scaling::weak, {{4, 25}, {1, 100}});
    ASSERT_TRUE(points);
    EXPECT_EQ((*points)[0].nodes, 1);
    EXPECT_EQ((*points)[0].seconds, 100);
    EXPECT_EQ((*points)[1].nodes, 4);
    EXPECT_EQ((*points)[1].seconds, 25);
}

TEST(ScalingEfficiency, TimesThatCannotBeComparedSayWhich) {
    using Reason = UnusableTimes::Reason;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    struct Row {
        std::vector<NodesTime> times;
        UnusableTimes why;
    };
    const std::vector<Row> rows = {
        {{}, {Reason::too_few, 0, {}}},
        {{{1, 100}}, {Reason::too_few, 1, {}}},
        {{{1, 100}, {0, 50}}, {Reason::no_nodes, 2, {0, 50}}},
        {{{1, 100}, {2, 0}}, {Reason::not_positive, 2, {2, 0}}},
        {{{1, 100}, {2, -5}}, {Reason::not_positive, 2, {2, -5}}},
        {{{1, infinity}, {2, 50}}, {Reason::not_positive, 2, {1, infinity}}},
        {{{2, 50}, {1, 100}, {2, 50}}, {Reason::twice, 3, {2, 50}}},
    };
    for (const auto& row : rows) {
        const auto points = scaling_efficiency(Scaling::strong, row.times);
        ASSERT_FALSE(points);
        EXPECT_EQ(points.error(), row.why);
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto points = scaling_efficiency(Scaling::weak, {{1, 100}, {2, nan}});
    ASSERT_FALSE(points);
    EXPECT_EQ(points.error().reason, Reason::not_positive);
}

TEST(CommunicationEfficiency, IsRelativeToOneFullNode) {
    auto results = made_up_results(2, 2);
    const auto one = add_nodes(results, 1);
    const auto two = add_nodes(results, 2);
    EXPECT_EQ(communication_baseline(results), one);
    // One node: factor 1, 100 B/s. Two: factor 1.5, 100 / 3 * 1.5 = 50 B/s.
    add_measurement(results, two, {.bytes = 100, .seconds = 3});
    add_measurement(results, one, {.bytes = 100, .seconds = 1});
    // A pair is no step on the way from one node to all.
    const auto pair =
        add_group(results, {.kind = Group::Kind::pair, .nodes = {0, 1}, .ranks = 4, .number = 0});
    add_measurement(results, pair, {.bytes = 100, .seconds = 1});
    const auto efficiencies = communication_efficiency(results);
    ASSERT_EQ(efficiencies.size(), 2);
    EXPECT_EQ(efficiencies[0].measurement, 0);
    EXPECT_DOUBLE_EQ(efficiencies[0].efficiency, 0.5);
    EXPECT_EQ(efficiencies[1].measurement, 1);
    EXPECT_DOUBLE_EQ(efficiencies[1].efficiency, 1);
}

TEST(CommunicationEfficiency, OfOneGpuANodeTheBaselineIsTwoNodes) {
    auto results = made_up_results(4, 1);
    const auto four = add_nodes(results, 4);
    const auto one = add_nodes(results, 1);
    const auto two = add_nodes(results, 2);
    EXPECT_EQ(communication_baseline(results), two);
    add_measurement(results, one, {.bytes = 100, .seconds = 1});
    add_measurement(results, two, {.bytes = 100, .seconds = 1});
    add_measurement(results, four, {.bytes = 100, .seconds = 2});
    // 100 * 1.5 / 2 = 75 against 100.
    const auto efficiencies = communication_efficiency(results);
    ASSERT_EQ(efficiencies.size(), 2);
    EXPECT_EQ(efficiencies[1].measurement, 2);
    EXPECT_DOUBLE_EQ(efficiencies[1].efficiency, 0.75);
}

TEST(CommunicationEfficiency, ComparesOnlyTheSameSubject) {
    auto results = made_up_results(2, 2);
    const auto one = add_nodes(results, 1);
    const auto two = add_nodes(results, 2);
    add_measurement(results, one, {.bytes = 100, .seconds = 1});
    add_measurement(results, two, {.bytes = 200, .seconds = 1});
    add_measurement(results, two, {.type = DataType::f16, .bytes = 100, .seconds = 1});
    add_measurement(results, two, {.in_place = true, .bytes = 100, .seconds = 1});
    add_measurement(results, two, {.bytes = 100, .seconds = 1, .op = Op::max});
    add_measurement(results, two,
                    {.collective = Collective::broadcast, .bytes = 100, .seconds = 1});
    EXPECT_EQ(communication_efficiency(results).size(), 1);
}

TEST(CommunicationCurves, EachOperationHasOne) {
    auto results = made_up_results(2, 2);
    const auto one = add_nodes(results, 1);
    for (const Op op : {Op::sum, Op::max}) {
        add_measurement(results, one, {.bytes = 100, .seconds = 1, .op = op});
    }
    const auto curves = communication_curves(results);
    ASSERT_EQ(curves.size(), 2U);
    EXPECT_EQ(curves[1].subject.op, Op::max);
}

TEST(CommunicationEfficiency, OfOtherGroupsThereIsNone) {
    auto results = made_up_results(1, 1);
    add_nodes(results, 1);
    const auto gpus =
        add_group(results, {.kind = Group::Kind::gpus, .nodes = {0}, .ranks = 2, .number = 2});
    add_measurement(results, gpus, {.bytes = 100, .seconds = 1});
    EXPECT_FALSE(communication_baseline(results));
    EXPECT_TRUE(communication_efficiency(results).empty());
}

}  // namespace
}  // namespace distgpu::scaling
