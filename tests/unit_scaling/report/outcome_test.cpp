// The outcome of a run: its verdict, the slow parts, and the comparison with a baseline.
#include "report/outcome.h"

#include "analysis/pairs.h"
#include "base/format.h"
#include "synthetic_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

using Kind = Limiter::Kind;
using testing::AllOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

LimiterAnalysis with_limiters(const std::vector<Limiter>& limiters) {
    LimiterAnalysis analysis;
    analysis.is_decidable = true;
    for (const Limiter& limiter : limiters) analysis.findings.push_back({limiter, 0.5, 10});
    return analysis;
}

LimiterAnalysis with_doubt(Doubt doubt) {
    LimiterAnalysis analysis;
    analysis.is_decidable = true;
    analysis.doubt = std::move(doubt);
    return analysis;
}

Results with_ports(std::uint32_t nodes) {
    auto results = synthetic_results(nodes, 2);
    for (auto& node : results.nodes) node.rails = {"mlx5_0", "mlx5_3"};
    return results;
}

// All nodes reach 300 GB/s, three quarters of one node's bandwidth.
std::string verdict(const Results& measured, const LimiterAnalysis& analysis) {
    Results results = measured;
    results.measurements = {{0, {.bytes = 1U << 30U}, {}}};
    return verdict_line(results, analysis, Headline{0, 300e9, 0.75, 1, std::nullopt});
}

const std::string measured = "all-reduce 300 GB/s at 1 GiB, 75% of 1 node";

TEST(VerdictLine, NamesWhatIsSlow) {
    const auto limiter_of = [](std::uint32_t nodes, const LimiterAnalysis& analysis) {
        const std::string text = verdict(with_ports(nodes), analysis);
        const std::string start = counted(nodes, "node") + ": " + measured + "; limiter: ";
        EXPECT_EQ(text.substr(0, start.size()), start);
        return text.substr(start.size());
    };
    EXPECT_EQ(limiter_of(8, with_limiters({{.kind = Kind::node_rail, .node = 5, .local_rank = 1}})),
              "n5/mlx5_3");
    EXPECT_EQ(limiter_of(8, with_limiters({})), "none");
    EXPECT_EQ(limiter_of(8, with_limiters({{.node = 1}, {.node = 6}})), "n1, n6");
    EXPECT_EQ(limiter_of(1, LimiterAnalysis{}), "cannot be determined with 1 node");
    EXPECT_EQ(limiter_of(2, LimiterAnalysis{}), "cannot be determined with 2 nodes");
    LimiterAnalysis rails;  // with two nodes they can be compared
    rails.findings = {{{.kind = Kind::rail, .local_rank = 1}, 0.5, 10}};
    EXPECT_EQ(limiter_of(2, rails), "rail mlx5_3");
    EXPECT_EQ(verdict_line(with_ports(4), LimiterAnalysis{}, std::nullopt),
              "4 nodes: bandwidth not measured; limiter: not measured");
    const std::string eight = "n0, n0, n0, n0, n0, n0, n0, n0";
    EXPECT_EQ(limiter_of(64, with_limiters(std::vector<Limiter>(8))), eight);
    EXPECT_EQ(limiter_of(64, with_limiters(std::vector<Limiter>(10))), eight + " and 2 more");
}

TEST(VerdictLine, HasTheReasonIfUndecided) {
    auto results = with_ports(8);
    results.nodes[7].switches = "s1.s4";
    const auto reason_of = [&](const Doubt& doubt) {
        const std::string text = verdict(results, with_doubt(doubt));
        const std::string start = "8 nodes: " + measured + "; limiter: undecided, because ";
        EXPECT_EQ(text.substr(0, start.size()), start);
        return text.substr(start.size());
    };
    EXPECT_EQ(reason_of({Doubt::Kind::alone_on_switch, {7}, 0.5}),
              "n7 is alone on switch s4: either may be at 50%");
    EXPECT_EQ(reason_of({Doubt::Kind::common_cause, {0, 1, 2}, 0.8}),
              "3 of 8 nodes are at 80% (n0, n1, n2): different hardware or a common cause");
    EXPECT_EQ(reason_of({Doubt::Kind::noise, {}, 0.6}),
              "repeated measurements differ so much that a node at 60% would not stand out");
    EXPECT_EQ(reason_of({Doubt::Kind::all_nodes_slow, {}, 0.4}),
              "all nodes together reach 40% of what two of them do");
}

constexpr std::uint64_t gib = 1ULL << 30U;

// Groups of one and two nodes with two ranks each, 1 GiB. The factors of all-reduce are 1 and 3/2.
Results growing(double of_one, double of_two) {
    auto results = synthetic_results(2, 2);
    results.backend = "nccl";
    results.fingerprint = {{"NCCL", "2.30.7"}};
    const double size = gib;
    add_measurement(results, add_nodes(results, 1), {.bytes = gib, .seconds = size / of_one});
    add_measurement(results, add_nodes(results, 2), {.bytes = gib, .seconds = 1.5 * size / of_two});
    return results;
}

// The verdict without the limiters.
std::string headline(const Results& results, std::optional<double> expected_busbw = {},
                     const Baseline* baseline = nullptr) {
    const std::string text = make_report(results, expected_busbw, baseline).verdict;
    return text.substr(0, text.find("; limiter"));
}

TEST(Headline, HasTheShareOfOneNodeAndOfTheExpectedBandwidth) {
    const auto results = growing(400e9, 300e9);
    const std::string text = "2 nodes: all-reduce 300 GB/s at 1 GiB, 75% of 1 node";
    EXPECT_EQ(headline(results), text);
    const Baseline baseline{"old", growing(400e9, 250e9), 0.05};
    EXPECT_EQ(headline(results, {}, &baseline), text + ", 120% of the 250 GB/s of the baseline");
    EXPECT_EQ(headline(results, 375e9, &baseline), text + ", 80% of the 375 GB/s of --expect");
}

TEST(Headline, HasNoShareWithOneNode) {
    auto results = synthetic_results(1, 2);
    add_measurement(results, add_nodes(results, 1), {.bytes = gib, .seconds = 0.5});
    EXPECT_EQ(headline(results), "1 node: all-reduce 2.147 GB/s at 1 GiB");
}

TEST(Headline, IsOfTheLargestSizeOfTheFirstCollectiveOutOfPlace) {
    auto results = growing(400e9, 300e9);
    add_measurement(results, 1, {.in_place = true, .bytes = gib, .seconds = 1});
    add_measurement(results, 1, {.bytes = 8, .seconds = 1});
    add_measurement(results, 1,
                    {.collective = Collective::broadcast, .bytes = 2 * gib, .seconds = 1});
    EXPECT_EQ(make_report(results).headline->measurement, 1U);
    EXPECT_FALSE(make_report({}).headline);
}

// Nodes have two ranks with ports. A pair has the rate of its slower node, except `collision`.
std::vector<SlowPart> slow_parts(const std::vector<double>& rates, Pair collision = {},
                                 const std::vector<double>& rails = {}) {
    auto results = with_ports(static_cast<std::uint32_t>(rates.size()));
    const auto measure = [&](const Group& group, double rate) {
        add_measurement(results, add_group(results, group),
                        {.bytes = 1000, .seconds = 1000 / rate});
    };
    for (const Round& round : tournament(static_cast<std::uint32_t>(rates.size()))) {
        for (const Pair& pair : round) {
            const double rate = std::min(rates[pair.first], rates[pair.second]);
            measure({Group::Kind::pair, {pair.first, pair.second}, 4, 0},
                    pair == collision ? 0.5 : rate);
        }
    }
    for (std::uint32_t rail = 0; rail < rails.size(); ++rail) {
        measure({Group::Kind::rail, {0, 1, 2, 3}, 4, rail}, rails[rail]);
    }
    return make_report(results).slow_parts;
}

auto part(const std::string& name, Kind kind, double relative_rate,
          std::optional<std::uint32_t> node = std::nullopt) {
    return AllOf(Field(&SlowPart::name, name), Field(&SlowPart::kind, kind),
                 Field(&SlowPart::relative_rate, DoubleEq(relative_rate)),
                 Field(&SlowPart::node, node));
}

TEST(MakeReport, SlowPartsAreSortedSlowestFirst) {
    const auto parts = slow_parts({1, 1, 0.5, 1});
    EXPECT_THAT(parts, ElementsAre(part("n2", Kind::node, 0.5, 2U)));
    EXPECT_LT(parts.at(0).robust_z, -5);
    EXPECT_THAT(slow_parts({1, 1, 0.5, 1}, {}, {1, 0.5}),
                ElementsAre(part("n2/mlx5_3", Kind::node_rail, 0.5, 2U)));
    EXPECT_THAT(slow_parts({1, 1, 1, 1, 1, 1}, {1, 4}),
                ElementsAre(part("paths", Kind::paths, 0.5), part("n1 - n4", Kind::paths, 0.5)));
}

TEST(MakeReport, AFailedRunHasNoVerdict) {
    auto results = growing(400e9, 300e9);
    const Baseline baseline{"old", results, 0.05};
    EXPECT_FALSE(make_report(results).verdict.empty());
    results.failure = Failure{"all-reduce", "has died", {}};
    EXPECT_TRUE(make_report(results, {}, &baseline).verdict.empty());
    EXPECT_FALSE(make_report(results, {}, &baseline).comparison);
    EXPECT_FALSE(make_report(results).efficiency.empty());
    EXPECT_TRUE(make_report({}).slow_parts.empty());
}

}  // namespace
}  // namespace distgpu::scaling
