// Metrics for node_exporter, and the reason to drain a node. scaling_page.bats has the metrics read
// by Prometheus' own parser.
#include "made_up_results.h"
#include "report/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace distgpu::scaling {
namespace {

using testing::HasSubstr;
using testing::Not;

// One node of two ranks: 2 GB/s at the larger of two sizes.
ReportInput complete() {
    auto results = made_up_results(2, 2);
    results.backend = "nccl";
    results.started = "1970-01-02T00:00:01Z";
    const auto group = add_nodes(results, 1);
    add_measurement(results, group, {.bytes = 1000, .seconds = 1});
    add_measurement(results, group, {.bytes = 2000000000, .seconds = 1});
    ReportInput input = derive(results);
    input.slow_parts = {{"n0", Limiter::Kind::node, 0.604, -9.0, 0U},
                        {"n0 - n1", Limiter::Kind::paths, 0.5, std::nullopt},
                        {"n1/mlx5_3", Limiter::Kind::node_rail, 0.8, std::nullopt, 1U}};
    input.limiters = {"n0", "n1/mlx5_3"};
    return input;
}

TEST(Prometheus, TheLargestSizeWithItsUnit) {
    const std::string text = to_prometheus(complete());
    EXPECT_THAT(
        text, HasSubstr("# TYPE nccl_scaling_bus_bandwidth_bytes_per_second gauge\n"
                        "nccl_scaling_bus_bandwidth_bytes_per_second{"
                        "collective=\"all-reduce\",op=\"sum\",type=\"float\","
                        "in_place=\"false\",bytes=\"2000000000\",group=\"1 node\",ranks=\"2\"} "));
    EXPECT_THAT(text, Not(HasSubstr("bytes=\"1000\"")));
}

// Two of the same labels would be refused by Prometheus.
TEST(Prometheus, EachOperationHasItsLargestSize) {
    ReportInput input = complete();
    add_measurement(input.results, 0, {.bytes = 3000, .seconds = 1, .op = Op::max});
    const std::string text = to_prometheus(input);
    EXPECT_THAT(text, HasSubstr("op=\"max\",type=\"float\",in_place=\"false\",bytes=\"3000\""));
    EXPECT_THAT(text, HasSubstr("bytes=\"2000000000\""));
}

// A day and a second.
TEST(Prometheus, WhenAndWhetherItIsComplete) {
    EXPECT_THAT(to_prometheus(complete()), HasSubstr("\nnccl_scaling_start_time_seconds 86401\n"));
    EXPECT_THAT(to_prometheus(complete()),
                HasSubstr("\nnccl_scaling_complete{backend=\"nccl\"} 1\n"));
    ReportInput failed = complete();
    failed.results.failure = Failure{};
    EXPECT_THAT(to_prometheus(failed), HasSubstr("\nnccl_scaling_complete{backend=\"nccl\"} 0\n"));
}

TEST(Prometheus, LabelsAreEscaped) {
    ReportInput input = complete();
    input.slow_parts[0].name = "a\"b\\c\nd";
    EXPECT_THAT(to_prometheus(input), HasSubstr(R"({name="a\"b\\c\nd",kind="slow node"} 0.604)"));
    EXPECT_THAT(to_prometheus(input), HasSubstr("\nnccl_scaling_limiters 2\n"));
}

TEST(DrainReason, IsOneLineOfTheNodesAndTheirPorts) {
    EXPECT_EQ(drain_reason(complete()),
              "nccl-scaling 1970-01-02T00:00:01Z: n0 at 60% of its peers, n1/mlx5_3 at 80% of its "
              "peers\n");
}

// slurmctld keeps the whole line: one fact, if it is short.
TEST(DrainReason, SaysTheFirstThingThatTheNodeSaysOfItself) {
    ReportInput input = complete();
    input.results.nodes[0].facts = {"GPU 3: Xid 79 during the run", "GPU 4: Xid 31 during the run"};
    input.results.nodes[1].facts = {std::string(80, 'x')};
    const std::string start = "nccl-scaling 1970-01-02T00:00:01Z: n0 at 60% of its peers ";
    const std::string end = "(GPU 3: Xid 79 during the run), n1/mlx5_3 at 80% of its peers";
    EXPECT_EQ(drain_reason(input), start + end + " (" + std::string(80, 'x') + ")\n");
    input.results.nodes[1].facts = {std::string(81, 'x')};
    EXPECT_EQ(drain_reason(input), start + end + "\n");
}

TEST(DrainReason, IsEmptyWhereNobodyIsNamedOrTheRunEndedEarly) {
    ReportInput input = complete();
    input.results.failure = Failure{};
    EXPECT_EQ(drain_reason(input), "");
    input = complete();
    input.slow_parts = {input.slow_parts[1]};
    EXPECT_EQ(drain_reason(input), "");
}

TEST(DrainReason, IsFitForQuotes) {
    ReportInput input = complete();
    input.slow_parts = {{"a\"b\n$(c)`d`'", Limiter::Kind::node, 0.5, std::nullopt, 0U}};
    EXPECT_EQ(drain_reason(input),
              "nccl-scaling 1970-01-02T00:00:01Z: a_b__(c)_d__ at 50% of its peers\n");
}

}  // namespace
}  // namespace distgpu::scaling
