#include "report/report_input.h"

#include "analysis/pairs.h"
#include "made_up_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

using testing::AllOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

std::vector<std::string> communication_subjects(const Results& results) {
    std::vector<std::string> subjects;
    for (const EfficiencyCurve& curve : derive(results).efficiency) {
        if (curve.kind == EfficiencyCurve::Kind::communication) subjects.push_back(curve.subject);
    }
    return subjects;
}

// Groups of one and two nodes of two ranks.
Results growing() {
    auto results = made_up_results(2, 2);
    add_nodes(results, 1);
    add_nodes(results, 2);
    return results;
}

void on_both(Results& results, Timed timed) {
    timed.seconds = 1;
    add_measurement(results, 0, timed);
    add_measurement(results, 1, timed);
}

// Whichever placement was measured first.
TEST(Derive, ACurveOfTheLargestSizeOfEachCollectiveAndType) {
    auto results = growing();
    for (const std::uint64_t bytes : {8U, 1024U, 1048576U}) {
        for (const bool in_place : {false, true}) {
            on_both(results, {.in_place = in_place, .bytes = bytes});
            on_both(results, {.type = DataType::f16, .in_place = !in_place, .bytes = bytes});
        }
        on_both(results, {.collective = Collective::broadcast, .in_place = true, .bytes = bytes});
    }
    EXPECT_THAT(communication_subjects(results),
                ElementsAre("all-reduce float, 1 MiB", "all-reduce half, 1 MiB",
                            "broadcast float, 1 MiB, in place"));
}

// Bus bandwidth is (8/1 s)(2 (n-1) / n): 8 B/s of 2 ranks, 12 B/s of 4.
TEST(Derive, PointsOfACurve) {
    auto results = growing();
    on_both(results, {.bytes = 8});
    const auto curves = derive(results).efficiency;
    ASSERT_FALSE(curves.empty());
    EXPECT_EQ(curves[0].baseline_nodes, 1U);
    EXPECT_THAT(curves[0].points,
                ElementsAre(EfficiencyCurve::Point{1, 1.0}, EfficiencyCurve::Point{2, 1.5}));
}

// A clock that saw no time pass must not become a division by zero.
TEST(Derive, TimesOfZeroGiveNoNumbers) {
    auto results = growing();
    for (const std::uint64_t bytes : {8U, 16U}) {
        add_measurement(results, 0, {.bytes = bytes, .seconds = 0});
        add_measurement(results, 1, {.bytes = bytes, .seconds = 0});
    }
    const ReportInput report = derive(results);
    EXPECT_THAT(report.fits, IsEmpty());
    for (const EfficiencyCurve& curve : report.efficiency) {
        for (const auto& point : curve.points) EXPECT_TRUE(std::isfinite(point.efficiency));
    }
}

// Nodes of two ranks with the ports mlx5_0 and mlx5_1; pairs, rails and their rates.
class Cluster {
  public:
    explicit Cluster(std::uint32_t nodes) : results_(made_up_results(nodes, 2)) {
        for (Node& node : results_.nodes) node.rails = {"mlx5_0", "mlx5_1"};
    }

    // A pair has the rate of the slower of its nodes, unless it is `collision`.
    void play(const std::vector<double>& rates, Pair collision = {}, double collision_rate = 1) {
        for (const Round& round : tournament(static_cast<std::uint32_t>(rates.size()))) {
            for (const Pair& pair : round) {
                const double rate = pair == collision
                                        ? collision_rate
                                        : std::min(rates[pair.first], rates[pair.second]);
                measure({Group::Kind::pair, {pair.first, pair.second}, 4, 0}, rate);
            }
        }
    }

    void rail(std::uint32_t local_rank, double rate) {
        std::vector<std::uint32_t> nodes(results_.nodes.size());
        std::iota(nodes.begin(), nodes.end(), 0U);
        const auto ranks = static_cast<std::uint32_t>(nodes.size());
        measure({Group::Kind::rail, nodes, ranks, local_rank}, rate);
    }

    std::vector<SlowPart> slow_parts() const { return derive(results_).slow_parts; }

  private:
    void measure(const Group& group, double rate) {
        add_measurement(results_, add_group(results_, group),
                        {.bytes = 1000, .seconds = 1000 / rate});
    }

    Results results_;
};

using Kind = Limiter::Kind;

auto part(const std::string& name, Kind kind, double relative,
          std::optional<std::uint32_t> node = std::nullopt) {
    return AllOf(Field(&SlowPart::name, name), Field(&SlowPart::kind, kind),
                 Field(&SlowPart::relative, DoubleEq(relative)), Field(&SlowPart::node, node));
}

TEST(Derive, ASlowNodeIsASlowPart) {
    Cluster cluster(4);
    cluster.play({1, 1, 0.5, 1});
    const auto parts = cluster.slow_parts();
    EXPECT_THAT(parts, ElementsAre(part("n2", Kind::node, 0.5, 2U)));
    EXPECT_LT(parts.at(0).robust_z, -5);
}

TEST(Derive, ThePortOfTheSlowNodeIsNamedInItsStead) {
    Cluster cluster(4);
    cluster.play({1, 1, 0.5, 1});
    cluster.rail(0, 1);
    cluster.rail(1, 0.5);
    EXPECT_THAT(cluster.slow_parts(), ElementsAre(part("n2/mlx5_1", Kind::node_rail, 0.5, 2U)));
}

TEST(Derive, ACollisionIsThePairsAndNoNodes) {
    Cluster cluster(6);
    cluster.play({1, 1, 1, 1, 1, 1}, {1, 4}, 0.5);
    EXPECT_THAT(cluster.slow_parts(),
                ElementsAre(part("paths", Kind::paths, 0.5), part("n1 - n4", Kind::paths, 0.5)));
}

// Compute of 4 s, and 1 s of communication on either number of nodes: E_w = 1, E_s = 5 / (2 * 3).
TEST(Derive, AStepIsAModelAndSaysSo) {
    auto results = growing();
    on_both(results, {.bytes = 8});
    const TrainingStep step{"compute=4s,allreduce=8", 4, {{Collective::all_reduce, 8, 1}}};
    const ReportInput report = derive(results, {std::nullopt, step});
    EXPECT_EQ(report.step,
              "model of the step compute=4s,allreduce=8: 2 nodes 100.0 % of linear (weak), 83.3 % "
              "(strong), nothing hidden behind compute");
    ASSERT_EQ(report.efficiency.size(), 3U);
    EXPECT_EQ(report.efficiency[1].subject, step.text);
    EXPECT_EQ(derive(results).step, "");
    EXPECT_EQ(
        derive(results, {std::nullopt, TrainingStep{"x", 1, {{Collective::reduce, 8, 1}}}}).step,
        "model of the step x: nothing, as two numbers of nodes did not measure all of it");
}

TEST(Derive, LimitersHaveTheirNames) {
    auto results = made_up_results(4, 1);
    for (const Round& round : tournament(4)) {
        for (const auto& [first, second] : round) {
            add_measurement(results, add_group(results, {Group::Kind::pair, {first, second}, 2, 0}),
                            {.bytes = 8, .seconds = first == 2 || second == 2 ? 2.0 : 1.0});
        }
    }
    EXPECT_THAT(derive(results).limiters, ElementsAre("n2"));
}

TEST(Derive, ARunThatFailedHasNoVerdict) {
    auto results = growing();
    on_both(results, {.bytes = 8});
    EXPECT_FALSE(derive(results).verdict.empty());
    results.failure = Failure{"all-reduce", "has died", {}};
    EXPECT_TRUE(derive(results).verdict.empty());
    EXPECT_FALSE(derive(results).efficiency.empty());
    EXPECT_TRUE(derive({}).slow_parts.empty());
}

}  // namespace
}  // namespace distgpu::scaling
