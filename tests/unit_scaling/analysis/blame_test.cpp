// Who is blamed, on clusters whose rates are known.
#include "analysis/blame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

using Kind = Limiter::Kind;
using Limiters = std::vector<Limiter>;

// A match runs at the rate of the slower node. Rates differ by a thousandth from match to match.
Evidence played(const std::vector<double>& rates) {
    Evidence evidence;
    double jitter = 1;
    std::uint32_t number = 0;
    for (const auto& round : tournament(static_cast<std::uint32_t>(rates.size()))) {
        for (const auto pair : round) {
            jitter = jitter > 1 ? 1 - 1e-3 : 1 + 1e-3;
            evidence.matches.push_back(
                {pair, jitter * std::min(rates[pair.first], rates[pair.second]), number});
        }
        ++number;
    }
    return evidence;
}

// Consecutive nodes, so many on each switch.
Evidence on_switches(Evidence evidence, std::uint32_t nodes, std::uint32_t each) {
    for (std::uint32_t node = 0; node < nodes; ++node) {
        evidence.leaves.push_back("s" + std::to_string(node / each));
    }
    return evidence;
}

template <class Hits>
Evidence slowed(Evidence evidence, double rate, Hits hits) {
    for (auto& match : evidence.matches) {
        if (hits(match.pair)) match.bandwidth *= rate;
    }
    return evidence;
}

Limiters limiters_of(const Evidence& evidence) {
    Limiters limiters;
    for (const auto& finding : blame(evidence).findings) limiters.push_back(finding.limiter);
    return limiters;
}

Evidence with_rails(Evidence evidence, const std::vector<double>& rails) {
    for (std::uint32_t rail = 0; rail < rails.size(); ++rail) {
        evidence.rails.push_back({rail, rails[rail]});
    }
    return evidence;
}

// Each rail of each pair once, as fast as the slower port.
Evidence with_pair_rails(Evidence evidence, std::uint32_t nodes, std::uint32_t rails,
                         const std::map<std::pair<std::uint32_t, std::uint32_t>, double>& ports) {
    const auto rate = [&](std::uint32_t node, std::uint32_t rail) {
        const auto found = ports.find({node, rail});
        return found == ports.end() ? 1 : found->second;
    };
    for (const auto& round : tournament(nodes, 1)) {
        for (const auto pair : round) {
            for (std::uint32_t rail = 0; rail < rails; ++rail) {
                evidence.pair_rails.push_back(
                    {pair, rail, std::min(rate(pair.first, rail), rate(pair.second, rail))});
            }
        }
    }
    return evidence;
}

Limiter node(std::uint32_t index) {
    return {.kind = Kind::node, .node = index};
}
Limiter port(std::uint32_t index, std::uint32_t rail) {
    return {.kind = Kind::node_rail, .node = index, .local_rank = rail};
}
Limiter rail_of_all(std::uint32_t rail) {
    return {.kind = Kind::rail, .local_rank = rail};
}

TEST(Blame, NobodyWhereAllAreEqual) {
    for (const std::size_t nodes : {3U, 4U, 8U, 100U}) {
        const auto result = blame(played(std::vector<double>(nodes, 1)));
        EXPECT_TRUE(result.decidable);
        EXPECT_TRUE(result.findings.empty()) << nodes;
        EXPECT_EQ(result.doubt, Doubt{}) << nodes;
    }
}

TEST(Blame, TheSlowNodeWithItsRate) {
    for (const std::size_t nodes : {3U, 4U, 5U, 8U, 100U}) {
        for (std::uint32_t slow = 0; slow < 3; ++slow) {
            std::vector<double> rates(nodes, 1);
            rates[slow] = 0.85;
            const auto result = blame(played(rates));
            ASSERT_EQ(result.findings.size(), 1) << nodes << ' ' << slow;
            EXPECT_EQ(result.findings[0].limiter, node(slow));
            EXPECT_NEAR(result.findings[0].relative, 0.85, 3e-3);
            EXPECT_GT(result.findings[0].deviations, 5);
        }
    }
}

TEST(Blame, SeveralSlowNodes) {
    EXPECT_EQ(limiters_of(played({0.8, 1, 0.8, 1, 1})), (Limiters{node(0), node(2)}));
    EXPECT_EQ(limiters_of(played({0.5, 0.85, 1, 1, 1, 1})), (Limiters{node(0), node(1)}));
}

TEST(Blame, LessThanSevenPercentIsNotCalledSlow) {
    EXPECT_EQ(limiters_of(played({1, 1, 0.94, 1, 1, 1, 1, 1})), Limiters{});
    EXPECT_EQ(limiters_of(played({1, 1, 0.90, 1, 1, 1, 1, 1})), Limiters{node(2)});
}

// 12 % is much among nodes that are equal, and little among those that differ by 10 % anyway.
TEST(Blame, NotWithinTheUsualSpread) {
    EXPECT_EQ(limiters_of(played({1, 1, 1, 1, 1, 1, 1, 0.88})), Limiters{node(7)});
    EXPECT_EQ(limiters_of(played({1.1, 1.1, 1.1, 1, 1, 1, 1, 0.88})), Limiters{});
}

TEST(Blame, AThirdOfTheNodesAlikeMayBeOfAnotherKind) {
    const auto result = blame(played({0.8, 0.8, 0.8, 1, 1, 1, 1, 1}));
    EXPECT_TRUE(result.findings.empty());
    EXPECT_EQ(result.doubt.kind, Doubt::Kind::alike);
    EXPECT_EQ(result.doubt.nodes, (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_NEAR(result.doubt.relative, 0.8, 3e-3);
    // Each by its own share: that is nobody's design.
    EXPECT_EQ(limiters_of(played({0.8, 0.7, 0.6, 1, 1, 1, 1, 1})),
              (Limiters{node(0), node(1), node(2)}));
}

TEST(Blame, HalfOfTheNodesLeaveItOpen) {
    const auto result = blame(played({0.5, 0.8, 1, 1}));
    EXPECT_TRUE(result.findings.empty());
    EXPECT_EQ(result.doubt.kind, Doubt::Kind::alike);
}

TEST(Blame, TwoNodesAccuseEachOther) {
    const auto result = blame(played({1, 0.1}));
    EXPECT_FALSE(result.decidable);
    EXPECT_TRUE(result.findings.empty());
    EXPECT_EQ(result.pairs.size(), 1);
}

TEST(Blame, OnePartnerIsNotEnough) {
    Evidence evidence;
    evidence.matches = {{{0, 1}, 0.5}, {{2, 3}, 1}, {{4, 5}, 1}, {{6, 7}, 1}};
    EXPECT_FALSE(blame(evidence).decidable);
    EXPECT_TRUE(blame(evidence).findings.empty());
    EXPECT_FALSE(blame({}).decidable);
}

TEST(BlameOfSwitches, WhatGoesBetweenThemIsTheSpine) {
    const auto between = [](Pair pair) { return pair.first / 4 != pair.second / 4; };
    for (const std::uint32_t nodes : {8U, 16U}) {
        const auto matches = slowed(played(std::vector<double>(nodes, 1)), 0.5, between);
        EXPECT_EQ(limiters_of(on_switches(matches, nodes, 4)), Limiters{{.kind = Kind::spine}});
        EXPECT_EQ(limiters_of(matches), Limiters{{.kind = Kind::spine}}) << "switches unknown";
    }
}

TEST(BlameOfSwitches, WhatLeavesOneIsItsUplink) {
    const auto leaves_first = [](Pair pair) { return pair.first < 4 && pair.second >= 4; };
    const auto matches = slowed(played(std::vector<double>(16, 1)), 0.5, leaves_first);
    EXPECT_EQ(limiters_of(on_switches(matches, 16, 4)),
              (Limiters{{.kind = Kind::uplink, .node = 0}}));
}

TEST(BlameOfSwitches, AllOfItsNodesAreTheSwitch) {
    std::vector<double> rates(16, 1);
    for (std::uint32_t slow = 4; slow < 8; ++slow) rates[slow] = 0.8;
    EXPECT_EQ(limiters_of(on_switches(played(rates), 16, 4)),
              (Limiters{{.kind = Kind::leaf, .node = 4}}));
    rates[5] = 1;  // one is well: so is the switch
    EXPECT_EQ(limiters_of(on_switches(played(rates), 16, 4)),
              (Limiters{node(4), node(6), node(7)}));
}

TEST(BlameOfSwitches, ANodeAloneOnOneIsNotToldFromIt) {
    const auto result = blame(on_switches(played({1, 1, 1, 1, 1, 0.5}), 6, 5));
    EXPECT_TRUE(result.findings.empty());
    EXPECT_EQ(result.doubt.kind, Doubt::Kind::alone_on_switch);
    EXPECT_EQ(result.doubt.nodes, std::vector<std::uint32_t>{5});
}

TEST(BlameOfSwitches, ASlowNodeBesideASlowUplink) {
    std::vector<double> rates(16, 1);
    rates[9] = 0.7;
    const auto leaves_first = [](Pair pair) { return pair.first < 4 && pair.second >= 4; };
    EXPECT_EQ(limiters_of(on_switches(slowed(played(rates), 0.5, leaves_first), 16, 4)),
              (Limiters{node(9), {.kind = Kind::uplink, .node = 0}}));
}

// Of the node's matches, those that `when` is true of.
template <class When>
Evidence now_and_then(std::size_t nodes, std::uint32_t slow, When when) {
    auto evidence = played(std::vector<double>(nodes, 1));
    const auto rounds = evidence.matches.back().round + 1;
    for (auto& match : evidence.matches) {
        const bool own = match.pair.first == slow || match.pair.second == slow;
        if (own && when(match.round, rounds)) match.bandwidth *= 0.5;
    }
    return evidence;
}

TEST(BlameOfTheMoment, HalfOfItsMatchesOrTheLastPart) {
    for (const std::size_t nodes : {8U, 16U, 32U}) {
        const Limiters expected{{.kind = Kind::node, .node = 2, .intermittent = true}};
        // Not every second one, since each second partner would then be a path of its own.
        EXPECT_EQ(limiters_of(now_and_then(nodes, 2, [](auto r, auto) { return r * 7 % 11 < 5; })),
                  expected)
            << nodes;
        EXPECT_EQ(
            limiters_of(now_and_then(nodes, 2, [](auto r, auto all) { return r > all * 0.6; })),
            expected)
            << nodes;
    }
}

TEST(BlameOfTheMoment, ADriftOfAllIsNobodysFault) {
    auto evidence = played({1, 1, 1, 1, 1, 0.85, 1, 1});
    const double rounds = evidence.matches.back().round;
    for (auto& match : evidence.matches) match.bandwidth *= 1 - 0.3 * match.round / rounds;
    EXPECT_EQ(limiters_of(evidence), Limiters{node(5)});
}

// Without node 2 all that is left involves the first leaf: what would say that it is slow?
TEST(BlameOfSwitches, ALeafNeedsAMatchBesideItToBeSlow) {
    auto evidence = on_switches(played({1, 1, 0.1, 1}), 4, 2);
    double noise = 0;
    for (auto& match : evidence.matches) {
        noise = noise > 0.2 ? 0 : noise + 0.03;
        match.bandwidth *= 1 - noise;
    }
    EXPECT_EQ(limiters_of(evidence), Limiters{node(2)});
}

TEST(BlameOfPaths, ALowPairOfTwoWellNodesIsACollision) {
    for (const std::size_t nodes : {4U, 8U}) {
        const auto result = blame(slowed(played(std::vector<double>(nodes, 1)), 0.5, [](Pair pair) {
            return pair == Pair{0, 2};
        }));
        ASSERT_EQ(result.findings.size(), 1);
        EXPECT_EQ(result.findings[0].limiter, Limiter{.kind = Kind::paths});
        EXPECT_NEAR(result.findings[0].relative, 0.5, 3e-3);
        for (const auto& pair : result.pairs) {
            EXPECT_EQ(pair.collision, pair.pair == (Pair{0, 2})) << nodes;
        }
    }
}

TEST(BlameOfPaths, OneDisturbedMatchIsNone) {
    auto evidence = played({1, 1, 1, 1});
    evidence.matches.front().bandwidth = 0.1;
    EXPECT_EQ(limiters_of(evidence), Limiters{});
}

TEST(BlameOfPaths, TheSlowNodesPairsAreNoCollisions) {
    const auto result = blame(slowed(played({0.5, 1, 1, 1, 1, 1}), 0.7, [](Pair pair) {
        return pair == Pair{1, 2};
    }));
    ASSERT_EQ(result.findings.size(), 2);
    EXPECT_EQ(result.findings[0].limiter, node(0));
    EXPECT_EQ(result.findings[1].limiter, Limiter{.kind = Kind::paths});
    for (const auto& pair : result.pairs) {
        EXPECT_EQ(pair.collision, pair.pair == (Pair{1, 2})) << pair.pair.second;
    }
    EXPECT_TRUE(std::is_sorted(result.pairs.begin(), result.pairs.end(),
                               [](const auto& a, const auto& b) { return a.pair < b.pair; }));
}

TEST(BlameOfRails, SlowNodeAndSlowRailAreOnePort) {
    const auto matches = played({1, 0.85, 1, 1});
    EXPECT_EQ(limiters_of(with_rails(matches, {1, 1, 0.85, 1})), Limiters{port(1, 2)});
    EXPECT_EQ(limiters_of(with_rails(matches, {1, 0.85})), Limiters{port(1, 1)});
    EXPECT_EQ(limiters_of(with_rails(matches, {1, 0.85, 1, 0.85, 1})),
              (Limiters{port(1, 1), port(1, 3)}));
    // The node is slow altogether.
    EXPECT_EQ(limiters_of(with_rails(matches, {0.85, 0.85, 0.85})), Limiters{node(1)});
}

TEST(BlameOfRails, ASlowRailWithoutASlowNodeIsSlowEverywhere) {
    EXPECT_EQ(limiters_of(with_rails(played({1, 1, 1, 1}), {1, 1, 0.85, 1})),
              Limiters{rail_of_all(2)});
    EXPECT_EQ(limiters_of(with_rails(played({1, 1}), {1, 0.85})), Limiters{rail_of_all(1)});
    EXPECT_EQ(limiters_of(with_rails(played({1, 1, 1}), {0.1})), Limiters{}) << "no peers";
    EXPECT_EQ(limiters_of(with_rails(played({1, 1, 1}), {1, 0.94})), Limiters{});
}

// Nodes 1 and 5 are slow; which of them by rail 3 only their rates or other figures say.
TEST(BlameOfRails, APortOfTheOneThatIsAsSlow) {
    const std::vector<double> rails{1, 1, 1, 0.5};
    EXPECT_EQ(limiters_of(with_rails(played({1, 0.5, 1, 1, 1, 0.7, 1, 1}), rails)),
              (Limiters{port(1, 3), node(5)}));
    auto alike = with_rails(played({1, 0.5, 1, 1, 1, 0.5, 1, 1}), rails);
    EXPECT_EQ(limiters_of(alike), (Limiters{node(1), node(5)}));
    for (std::uint32_t one = 0; one < 8; ++one) alike.alone.push_back({one, one == 5 ? 0.5 : 1});
    EXPECT_EQ(limiters_of(alike), (Limiters{port(1, 3), node(5)}));
}

// What the rates could not tell apart, the rails of their pairs do.
TEST(BlameOfRails, APortThatWasMeasuredWithOthers) {
    const auto alike = with_rails(played({1, 0.5, 1, 1, 1, 0.5, 1, 1}), {1, 1, 1, 0.5});
    EXPECT_EQ(limiters_of(with_pair_rails(alike, 8, 4, {{{1, 3}, 0.5}})),
              (Limiters{port(1, 3), node(5)}));
    EXPECT_EQ(limiters_of(with_pair_rails(alike, 8, 4, {{{1, 3}, 0.5}, {{5, 0}, 0.5}})),
              (Limiters{port(1, 3), port(5, 0)}));
    EXPECT_EQ(
        limiters_of(with_pair_rails(alike, 8, 4, {{{1, 0}, 0.5}, {{1, 1}, 0.5}, {{5, 0}, 0.5}})),
        (Limiters{port(1, 0), port(1, 1), port(5, 0), rail_of_all(3)}));
}

TEST(BlameOfRails, ANodeWithAllPortsSlowKeepsItsName) {
    EXPECT_EQ(
        limiters_of(with_pair_rails(played({1, 0.5, 1, 1}), 4, 2, {{{1, 0}, 0.5}, {{1, 1}, 0.5}})),
        Limiters{node(1)});
}

// The rail of all nodes is no fault of the one's port.
TEST(BlameOfRails, APortIsHeldAgainstTheSameRailOfOthers) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> ports{{{1, 0}, 0.5}};
    for (std::uint32_t one = 0; one < 4; ++one) ports[{one, 1}] = 0.8;
    const auto evidence = with_rails(played({1, 0.5, 1, 1}), {0.5, 0.8, 1, 1});
    EXPECT_EQ(limiters_of(with_pair_rails(evidence, 4, 4, ports)),
              (Limiters{port(1, 0), rail_of_all(1)}));
}

// Of three nodes all that is known is how its rails differ.
TEST(BlameOfRails, OfThreeNodesANodesRailsAreHeldAgainstEachOther) {
    auto evidence = played({1, 0.5, 1});
    evidence.pair_rails = {{{0, 1}, 0, 1}, {{0, 1}, 1, 0.5}, {{1, 2}, 0, 1}, {{1, 2}, 1, 0.5}};
    EXPECT_EQ(limiters_of(evidence), Limiters{port(1, 1)});
}

TEST(BlameOfNodesAlone, OneThatIsSlowInsideIsNamedThoughNoMatchShowsIt) {
    auto evidence = played({1, 1, 1, 1});
    for (std::uint32_t one = 0; one < 4; ++one)
        evidence.alone.push_back({one, one == 2 ? 400.0 : 480.0});
    EXPECT_EQ(limiters_of(evidence), Limiters{node(2)});
    // Not always: something disturbed it.
    evidence.alone.push_back({2, 480});
    evidence.alone.push_back({2, 400});
    EXPECT_EQ(limiters_of(evidence), Limiters{});
}

TEST(BlameOfNothing, NeverBesideAllNodesThatAreFarSlowerThanTwo) {
    auto evidence = played({1, 1, 1, 1});
    evidence.all_nodes = 0.4;
    const auto result = blame(evidence);
    EXPECT_EQ(result.doubt.kind, Doubt::Kind::all_nodes);
    EXPECT_NEAR(result.doubt.relative, 0.4, 1e-2);
    evidence.all_nodes = 0.5;
    EXPECT_EQ(blame(evidence).doubt, Doubt{});
}

TEST(BlameOfNothing, NeverBesideNoiseThatWouldHideAFault) {
    auto evidence = played({1, 1, 1, 1});
    std::uint32_t state = 1;
    for (auto& match : evidence.matches) {
        state = state * 1664525U + 1013904223U;
        match.bandwidth *= 0.3 + 1.4 * (state >> 8U) / 16777216.0;
    }
    const auto result = blame(evidence);
    EXPECT_TRUE(result.findings.empty());
    EXPECT_EQ(result.doubt.kind, Doubt::Kind::noise);
}

}  // namespace
}  // namespace distgpu::scaling
