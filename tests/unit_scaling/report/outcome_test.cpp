// How a run came out: its last line word for word, what is slow, and the comparison with a
// baseline.
#include "report/outcome.h"

#include "analysis/pairs.h"
#include "base/format.h"
#include "made_up_results.h"

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

Blame found(const std::vector<Limiter>& limiters) {
    Blame blame;
    blame.decidable = true;
    for (const Limiter& limiter : limiters) blame.findings.push_back({limiter, 0.5, 10});
    return blame;
}

Blame in_doubt(Doubt doubt) {
    Blame blame;
    blame.decidable = true;
    blame.doubt = std::move(doubt);
    return blame;
}

Results with_ports(std::uint32_t nodes) {
    auto results = made_up_results(nodes, 2);
    for (auto& node : results.nodes) node.rails = {"mlx5_0", "mlx5_3"};
    return results;
}

// 300 GB/s of all nodes, three quarters of one node's.
std::string verdict(const Results& measured, const Blame& blame) {
    Results results = measured;
    results.measurements = {{0, {.bytes = 1U << 30U}, {}}};
    return verdict_line(results, blame, Headline{0, 300e9, 0.75, 1, std::nullopt});
}

const std::string measured = "all-reduce 300 GB/s at 1 GiB, 75% of 1 node";

TEST(VerdictLine, NamesWhatIsSlow) {
    const auto said = [](std::uint32_t nodes, const Blame& blame) {
        const std::string text = verdict(with_ports(nodes), blame);
        const std::string start = counted(nodes, "node") + ": " + measured + "; limiter: ";
        EXPECT_EQ(text.substr(0, start.size()), start);
        return text.substr(start.size());
    };
    EXPECT_EQ(said(8, found({{.kind = Kind::node_rail, .node = 5, .local_rank = 1}})), "n5/mlx5_3");
    EXPECT_EQ(said(8, found({})), "none");
    EXPECT_EQ(said(8, found({{.node = 1}, {.node = 6}})), "n1, n6");
    EXPECT_EQ(said(1, Blame{}), "cannot be determined with 1 node");
    EXPECT_EQ(said(2, Blame{}), "cannot be determined with 2 nodes");
    Blame rails;  // of two nodes they can be told apart
    rails.findings = {{{.kind = Kind::rail, .local_rank = 1}, 0.5, 10}};
    EXPECT_EQ(said(2, rails), "rail mlx5_3");
    EXPECT_EQ(verdict_line(with_ports(4), Blame{}, std::nullopt),
              "4 nodes: bandwidth not measured; limiter: not measured");
    const std::string eight = "n0, n0, n0, n0, n0, n0, n0, n0";
    EXPECT_EQ(said(64, found(std::vector<Limiter>(8))), eight);
    EXPECT_EQ(said(64, found(std::vector<Limiter>(10))), eight + " and 2 more");
}

TEST(VerdictLine, WhyItIsUndecided) {
    auto results = with_ports(8);
    results.nodes[7].switches = "s1.s4";
    const auto reason = [&](const Doubt& doubt) {
        const std::string text = verdict(results, in_doubt(doubt));
        const std::string start = "8 nodes: " + measured + "; limiter: undecided, because ";
        EXPECT_EQ(text.substr(0, start.size()), start);
        return text.substr(start.size());
    };
    EXPECT_EQ(reason({Doubt::Kind::alone_on_switch, {7}, 0.5}),
              "n7 is alone on switch s4: either may be at 50%");
    EXPECT_EQ(reason({Doubt::Kind::alike, {0, 1, 2}, 0.8}),
              "3 of 8 nodes are at 80% (n0, n1, n2): of another kind, or with a common cause");
    EXPECT_EQ(reason({Doubt::Kind::noise, {}, 0.6}),
              "equal measurements differ so much that a node at 60% would not stand out");
    EXPECT_EQ(reason({Doubt::Kind::all_nodes, {}, 0.4}),
              "all nodes together reach 40% of what two of them do");
}

constexpr std::uint64_t gib = 1ULL << 30U;

// One and two nodes of two ranks, 1 GiB. The factors of all-reduce are 1 and 3/2.
Results growing(double of_one, double of_two) {
    auto results = made_up_results(2, 2);
    results.backend = "nccl";
    results.fingerprint = {{"NCCL", "2.30.7"}};
    const double size = gib;
    add_measurement(results, add_nodes(results, 1), {.bytes = gib, .seconds = size / of_one});
    add_measurement(results, add_nodes(results, 2), {.bytes = gib, .seconds = 1.5 * size / of_two});
    return results;
}

// Without what is said of limiters.
std::string headline(const Results& results, std::optional<double> expect = {},
                     const Baseline* baseline = nullptr) {
    const std::string text = report_of(results, expect, baseline).verdict;
    return text.substr(0, text.find("; limiter"));
}

TEST(Headline, IsMeasuredAndAShareOfOneNodeAndOfWhatIsExpected) {
    const auto results = growing(400e9, 300e9);
    const std::string text = "2 nodes: all-reduce 300 GB/s at 1 GiB, 75% of 1 node";
    EXPECT_EQ(headline(results), text);
    const Baseline baseline{"old", growing(400e9, 250e9), 0.05};
    EXPECT_EQ(headline(results, {}, &baseline), text + ", 120% of the 250 GB/s of the baseline");
    EXPECT_EQ(headline(results, 375e9, &baseline), text + ", 80% of the 375 GB/s of --expect");
}

TEST(Headline, OneNodeIsNoShareOfItself) {
    auto results = made_up_results(1, 2);
    add_measurement(results, add_nodes(results, 1), {.bytes = gib, .seconds = 0.5});
    EXPECT_EQ(headline(results), "1 node: all-reduce 2.147 GB/s at 1 GiB");
}

TEST(Headline, LargestSizeOfTheFirstCollectiveOutOfPlace) {
    auto results = growing(400e9, 300e9);
    add_measurement(results, 1, {.in_place = true, .bytes = gib, .seconds = 1});
    add_measurement(results, 1, {.bytes = 8, .seconds = 1});
    add_measurement(results, 1,
                    {.collective = Collective::broadcast, .bytes = 2 * gib, .seconds = 1});
    EXPECT_EQ(report_of(results).headline->measurement, 1U);
    EXPECT_FALSE(report_of({}).headline);
}

// Of nodes of two ranks with ports; a pair has the rate of the slower of its nodes, or its own.
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
    return report_of(results).slow_parts;
}

auto part(const std::string& name, Kind kind, double relative,
          std::optional<std::uint32_t> node = std::nullopt) {
    return AllOf(Field(&SlowPart::name, name), Field(&SlowPart::kind, kind),
                 Field(&SlowPart::relative, DoubleEq(relative)), Field(&SlowPart::node, node));
}

TEST(ReportOf, WhatIsSlowIsAPartTheWorstFirst) {
    const auto parts = slow_parts({1, 1, 0.5, 1});
    EXPECT_THAT(parts, ElementsAre(part("n2", Kind::node, 0.5, 2U)));
    EXPECT_LT(parts.at(0).robust_z, -5);
    EXPECT_THAT(slow_parts({1, 1, 0.5, 1}, {}, {1, 0.5}),
                ElementsAre(part("n2/mlx5_3", Kind::node_rail, 0.5, 2U)));
    EXPECT_THAT(slow_parts({1, 1, 1, 1, 1, 1}, {1, 4}),
                ElementsAre(part("paths", Kind::paths, 0.5), part("n1 - n4", Kind::paths, 0.5)));
}

TEST(ReportOf, ARunThatFailedHasNoVerdict) {
    auto results = growing(400e9, 300e9);
    const Baseline baseline{"old", results, 0.05};
    EXPECT_FALSE(report_of(results).verdict.empty());
    results.failure = Failure{"all-reduce", "has died", {}};
    EXPECT_TRUE(report_of(results, {}, &baseline).verdict.empty());
    EXPECT_FALSE(report_of(results, {}, &baseline).judgement);
    EXPECT_FALSE(report_of(results).efficiency.empty());
    EXPECT_TRUE(report_of({}).slow_parts.empty());
}

}  // namespace
}  // namespace distgpu::scaling
