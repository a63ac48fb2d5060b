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

TEST(VerdictLine, NamesThePort) {
    auto results = with_ports(8);
    results.nodes[5].name = "node17";
    EXPECT_EQ(verdict_line(results,
                           found({{.kind = Limiter::Kind::node_rail, .node = 5, .local_rank = 1}}),
                           0.94, 0.71),
              "8 nodes: 94% of linear (weak), 71% (strong); limiter: node17/mlx5_3");
}

TEST(VerdictLine, NoLimiter) {
    EXPECT_EQ(verdict_line(with_ports(8), found({}), 0.999, 1.004),
              "8 nodes: 100% of linear (weak), 100% (strong); limiter: none");
}

TEST(VerdictLine, WhyItIsUndecided) {
    auto results = with_ports(8);
    results.nodes[7].switches = "s1.s4";
    const auto reason = [&](const Doubt& doubt) {
        const std::string text = verdict_line(results, in_doubt(doubt), std::nullopt, std::nullopt);
        const std::string start = "8 nodes: scaling not measured; limiter: undecided, because ";
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

TEST(VerdictLine, OneNodeHasNothingToScaleTo) {
    EXPECT_EQ(verdict_line(with_ports(1), Blame{}, 1, 1),
              "1 node: nothing to scale to; limiter: cannot be determined with 1 node");
}

TEST(VerdictLine, TwoNodesCannotBeToldApart) {
    EXPECT_EQ(
        verdict_line(with_ports(2), Blame{}, 0.9, 0.8),
        "2 nodes: 90% of linear (weak), 80% (strong); limiter: cannot be determined with 2 nodes");
}

TEST(VerdictLine, TheirRailsCan) {
    Blame blame;
    blame.findings = {{{.kind = Limiter::Kind::rail, .local_rank = 1}, 0.5, 10}};
    EXPECT_EQ(verdict_line(with_ports(2), blame, 0.9, 0.8),
              "2 nodes: 90% of linear (weak), 80% (strong); limiter: rail mlx5_3");
}

TEST(VerdictLine, WhatWasNotMeasured) {
    EXPECT_EQ(verdict_line(with_ports(4), Blame{}, std::nullopt, std::nullopt),
              "4 nodes: scaling not measured; limiter: not measured");
    EXPECT_EQ(verdict_line(with_ports(4), found({}), 0.5, std::nullopt),
              "4 nodes: 50% of linear (weak); limiter: none");
    EXPECT_EQ(verdict_line(with_ports(4), found({}), std::nullopt, 0.5),
              "4 nodes: 50% of linear (strong); limiter: none");
}

TEST(VerdictLine, SeveralLimiters) {
    EXPECT_EQ(verdict_line(with_ports(8), found({{.node = 1}, {.node = 6}}), 0.5, 0.5),
              "8 nodes: 50% of linear (weak), 50% (strong); limiter: n1, n6");
}

TEST(VerdictLine, NamesEightAtMost) {
    std::vector<Limiter> limiters(8);
    EXPECT_EQ(verdict_line(with_ports(64), found(limiters), 0.5, 0.5),
              "64 nodes: 50% of linear (weak), 50% (strong); "
              "limiter: n0, n0, n0, n0, n0, n0, n0, n0");
    limiters.resize(10);
    EXPECT_EQ(verdict_line(with_ports(64), found(limiters), 0.5, 0.5),
              "64 nodes: 50% of linear (weak), 50% (strong); "
              "limiter: n0, n0, n0, n0, n0, n0, n0, n0 and 2 more");
}

}  // namespace
}  // namespace distgpu::scaling
