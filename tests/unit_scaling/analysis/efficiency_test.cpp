// Efficiencies of cases with known results.
#include "analysis/efficiency.h"

#include "synthetic_results.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

std::vector<double> strong(std::vector<TrainingTime> times) {
    std::vector<double> values;
    const auto points = scaling_efficiency(std::move(times));
    for (const auto& point : *points) values.push_back(point.strong);
    return values;
}

// The linear case of docs/scaling.md, and 12.5 of 13.5: 100 s / 8, plus 1 s of communication.
TEST(ScalingEfficiency, StrongIsForTheSameTotalWork) {
    EXPECT_EQ(strong({{1, 100}, {2, 50}, {4, 25}}), (std::vector<double>{1, 1, 1}));
    EXPECT_DOUBLE_EQ(strong({{8, 13.5}, {1, 100}}).back(), 12.5 / 13.5);
    // 50 s on 2 nodes, 20 s on 8 nodes; linear would be 12.5 s.
    EXPECT_EQ(strong({{8, 20}, {2, 50}}), (std::vector<double>{1, 0.625}));
}

TEST(ScalingEfficiency, WeakIsTheRatioOfTimes) {
    const auto points = scaling_efficiency({{16, 12.5}, {1, 10}, {8, 10}});
    ASSERT_TRUE(points);
    EXPECT_EQ((*points)[1].nodes, 8U);
    EXPECT_EQ((*points)[1].weak, 1);
    EXPECT_EQ((*points)[2].seconds, 12.5);
    EXPECT_EQ((*points)[2].weak, 0.8);
}

TEST(ScalingEfficiency, ErrorsForTimesThatCannotBeCompared) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    struct Row {
        std::vector<TrainingTime> times;
        std::string message;
    };
    const std::vector<Row> rows = {
        {{}, "0 given; give times for at least two numbers of nodes, such as 1=100 2=50"},
        {{{1, 100}}, "1 given; give times for at least two numbers of nodes, such as 1=100 2=50"},
        {{{1, 100}, {0, 50}}, "0 nodes; the number of nodes must be at least 1"},
        {{{1, 100}, {2, 0}}, "0 s for 2 nodes; give seconds above 0"},
        {{{1, 100}, {2, -5}}, "-5 s for 2 nodes; give seconds above 0"},
        {{{1, infinity}, {2, 50}}, "inf s for 1 node; give seconds above 0"},
        {{{1, 100}, {2, nan}}, "nan s for 2 nodes; give seconds above 0"},
        {{{2, 50}, {1, 100}, {2, 50}},
         "2 nodes given twice; give one time for each number of nodes"},
    };
    for (const auto& [times, message] : rows) {
        const auto points = scaling_efficiency(times);
        ASSERT_FALSE(points);
        EXPECT_EQ(points.error().message(), "distgpu: times: " + message);
    }
}

// Groups of one and two nodes, with two ranks per node.
Results growing() {
    auto results = synthetic_results(2, 2);
    add_nodes(results, 1);
    add_nodes(results, 2);
    return results;
}

void add_to_both_groups(Results& results, Timed timed) {
    timed.seconds = 1;
    add_measurement(results, 0, timed);
    add_measurement(results, 1, timed);
}

TEST(CommunicationEfficiency, IsRelativeToTheFewestNodesWithTwoRanks) {
    auto results = growing();
    EXPECT_EQ(communication_baseline(results), 0U);
    // One node: factor 1, 100 B/s. Two: factor 1.5, 100 / 3 * 1.5 = 50 B/s.
    add_measurement(results, 1, {.bytes = 100, .seconds = 3});
    EXPECT_FALSE(communication_efficiency(results, results.measurements[0]));
    add_measurement(results, 0, {.bytes = 100, .seconds = 1});
    EXPECT_EQ(communication_efficiency(results, results.measurements[0]), 0.5);
    EXPECT_EQ(communication_efficiency(results, results.measurements[1]), 1.0);
    auto single = synthetic_results(4, 1);
    add_nodes(single, 1);
    add_nodes(single, 2);
    EXPECT_EQ(communication_baseline(single), 1U);
    EXPECT_FALSE(communication_baseline({}));
}

// Out of place, whichever placement was measured first.
TEST(EfficiencyCurves, UseTheLargestSizeOfEachCollectiveAndType) {
    auto results = growing();
    for (const std::uint64_t bytes : {8U, 1024U, 1048576U}) {
        for (const bool in_place : {false, true}) {
            add_to_both_groups(results, {.in_place = in_place, .bytes = bytes});
            add_to_both_groups(results,
                               {.type = DataType::f16, .in_place = !in_place, .bytes = bytes});
        }
        add_to_both_groups(results,
                           {.collective = Collective::broadcast, .in_place = true, .bytes = bytes});
    }
    std::vector<Operation> operations;
    for (const auto& curve : efficiency_curves(results)) operations.push_back(curve.operation);
    EXPECT_EQ(operations,
              (std::vector<Operation>{{Collective::all_reduce, DataType::f32, false, 1048576},
                                      {Collective::all_reduce, DataType::f16, false, 1048576},
                                      {Collective::broadcast, DataType::f32, true, 1048576}}));
}

// Bus bandwidth is (8 B / 1 s) (2 (n-1) / n): 8 B/s with 2 ranks, 12 B/s with 4. A time of 0 must
// not lead to a division by zero.
TEST(EfficiencyCurves, HaveAPointForEachNumberOfNodes) {
    auto results = growing();
    add_to_both_groups(results, {.bytes = 8});
    add_measurement(results, 0, {.bytes = 16, .seconds = 0});
    add_measurement(results, 1, {.bytes = 16, .seconds = 0});
    const auto curves = efficiency_curves(results);
    ASSERT_EQ(curves.size(), 1U);
    EXPECT_EQ(curves[0].baseline_nodes, 1U);
    EXPECT_EQ(curves[0].points, (std::vector<EfficiencyCurve::Point>{{1, 1}, {2, 1.5}}));
}

}  // namespace
}  // namespace distgpu::scaling
