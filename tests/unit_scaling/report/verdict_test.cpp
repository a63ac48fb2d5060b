// The run's last line, word for word.
#include "report/verdict.h"

#include "made_up_results.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distgpu::scaling {
namespace {

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
    results.measurements = {{.bytes = 1U << 30U, .time = {}}};
    return verdict_line(results, blame, Headline{0, 300e9, 0.75, 1, std::nullopt});
}

const std::string measured = "all-reduce 300 GB/s at 1 GiB, 75% of 1 node";

TEST(VerdictLine, NamesThePort) {
    auto results = with_ports(8);
    results.nodes[5].name = "node17";
    EXPECT_EQ(
        verdict(results, found({{.kind = Limiter::Kind::node_rail, .node = 5, .local_rank = 1}})),
        "8 nodes: " + measured + "; limiter: node17/mlx5_3");
}

TEST(VerdictLine, NoLimiter) {
    EXPECT_EQ(verdict(with_ports(8), found({})), "8 nodes: " + measured + "; limiter: none");
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
    using Kind = Doubt::Kind;
    EXPECT_EQ(reason({Kind::alone_on_switch, {7}, 0.5}),
              "n7 is alone on switch s4: either may be at 50%");
    EXPECT_EQ(reason({Kind::alike, {0, 1, 2}, 0.8}),
              "3 of 8 nodes are at 80% (n0, n1, n2): of another kind, or with a common cause");
    EXPECT_EQ(reason({Kind::noise, {}, 0.6}),
              "equal measurements differ so much that a node at 60% would not stand out");
    EXPECT_EQ(reason({Kind::all_nodes, {}, 0.4}),
              "all nodes together reach 40% of what two of them do");
}

TEST(VerdictLine, OneOrTwoNodesCannotBeToldApart) {
    EXPECT_EQ(verdict(with_ports(1), Blame{}),
              "1 node: " + measured + "; limiter: cannot be determined with 1 node");
    EXPECT_EQ(verdict(with_ports(2), Blame{}),
              "2 nodes: " + measured + "; limiter: cannot be determined with 2 nodes");
}

TEST(VerdictLine, TheirRailsCan) {
    Blame blame;
    blame.findings = {{{.kind = Limiter::Kind::rail, .local_rank = 1}, 0.5, 10}};
    EXPECT_EQ(verdict(with_ports(2), blame), "2 nodes: " + measured + "; limiter: rail mlx5_3");
}

TEST(VerdictLine, WhatWasNotMeasured) {
    EXPECT_EQ(verdict_line(with_ports(4), Blame{}, std::nullopt),
              "4 nodes: bandwidth not measured; limiter: not measured");
}

TEST(VerdictLine, SeveralLimiters) {
    EXPECT_EQ(verdict(with_ports(8), found({{.node = 1}, {.node = 6}})),
              "8 nodes: " + measured + "; limiter: n1, n6");
}

TEST(VerdictLine, NamesEightAtMost) {
    std::vector<Limiter> limiters(8);
    const std::string eight = "; limiter: n0, n0, n0, n0, n0, n0, n0, n0";
    EXPECT_EQ(verdict(with_ports(64), found(limiters)), "64 nodes: " + measured + eight);
    limiters.resize(10);
    EXPECT_EQ(verdict(with_ports(64), found(limiters)),
              "64 nodes: " + measured + eight + " and 2 more");
}

}  // namespace
}  // namespace distgpu::scaling
