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

Evidence with_error(Evidence evidence, double error) {
    for (auto& match : evidence.matches) match.error = error;
    return evidence;
}

Limiters limiters_of(const Evidence& evidence) {
    Limiters limiters;
    for (const auto& finding : blame(evidence).findings) limiters.push_back(finding.limiter);
    return limiters;
}

Evidence with_rails(Evidence evidence, const std::vector<double>& rails) {
    for (std::uint32_t rail = 0; rail < rails.size(); ++rail) {
        evidence.rails[rail] = {rails[rail]};
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

bool leaves_first(Pair pair) {
    return pair.first < 4 && pair.second >= 4;
}
bool goes_between(Pair pair) {
    return pair.first / 4 != pair.second / 4;
}

// Of 16 nodes, four on each switch.
Evidence sixteen(const std::map<std::uint32_t, double>& slow) {
    std::vector<double> rates(16, 1);
    for (const auto& [index, rate] : slow) rates[index] = rate;
    return on_switches(played(rates), 16, 4);
}

TEST(Blame, NamesWhatIsSlow) {
    const Limiters nobody;
    const Limiters spine{{.kind = Kind::spine}};
    const Limiter uplink{.kind = Kind::uplink, .node = 0};
    const auto healthy = [](std::uint32_t nodes) { return played(std::vector<double>(nodes, 1)); };
    // Nodes 1 and 5 are slow; which of them by rail 3 only their rates or other figures say.
    const std::vector<double> rail_3{1, 1, 1, 0.5};
    const auto alike = with_rails(played({1, 0.5, 1, 1, 1, 0.5, 1, 1}), rail_3);
    auto inside = alike;
    for (std::uint32_t one = 0; one < 8; ++one) inside.alone[one] = {one == 5 ? 0.5 : 1};
    const auto one_slow = played({1, 0.85, 1, 1});
    const auto low_pair = slowed(healthy(8), 0.5, [](Pair pair) { return pair == Pair{0, 2}; });
    const auto third_slow = played({1, 1, 0.85, 1, 1, 1, 1, 1});
    auto drift = played({1, 1, 1, 1, 1, 0.85, 1, 1});
    const double rounds = drift.matches.back().round;
    for (auto& match : drift.matches) match.bandwidth *= 1 - 0.3 * match.round / rounds;
    // Without node 2 all that is left involves the first leaf: what would say that it is slow?
    auto two_leaves = on_switches(played({1, 1, 0.1, 1}), 4, 2);
    double noise = 0;
    for (auto& match : two_leaves.matches) {
        noise = noise > 0.2 ? 0 : noise + 0.03;
        match.bandwidth *= 1 - noise;
    }
    auto one_match = healthy(4);
    one_match.matches.front().bandwidth = 0.1;
    // Of three nodes all that is known is how its rails differ.
    auto three = played({1, 0.5, 1});
    three.pair_rails = {{{0, 1}, 0, 1}, {{0, 1}, 1, 0.5}, {{1, 2}, 0, 1}, {{1, 2}, 1, 0.5}};
    auto slow_inside = healthy(4);
    slow_inside.alone = {{0, {480}}, {1, {480}}, {2, {400}}, {3, {480}}};
    auto disturbed = slow_inside;
    disturbed.alone[2] = {400, 480, 400};
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> ports{{{1, 0}, 0.5}};
    for (std::uint32_t one = 0; one < 4; ++one) ports[{one, 1}] = 0.8;
    struct Row {
        const char* about;
        Evidence evidence;
        Limiters right;
    };
    const std::vector<Row> rows{
        {"two slow nodes", played({0.8, 1, 0.8, 1, 1}), {node(0), node(2)}},
        {"by two rates", played({0.5, 0.85, 1, 1, 1, 1}), {node(0), node(1)}},
        {"less than 7 % is not slow", played({1, 1, 0.94, 1, 1, 1, 1, 1}), nobody},
        {"10 % is", played({1, 1, 0.90, 1, 1, 1, 1, 1}), {node(2)}},
        {"12 % among nodes that are equal", played({1, 1, 1, 1, 1, 1, 1, 0.88}), {node(7)}},
        {"among nodes that differ by 10 %", played({1.1, 1.1, 1.1, 1, 1, 1, 1, 0.88}), nobody},
        {"each of many by its own share is nobody's design",
         played({0.8, 0.7, 0.6, 1, 1, 1, 1, 1}),
         {node(0), node(1), node(2)}},
        {"between two switches", on_switches(slowed(healthy(8), 0.5, goes_between), 8, 4), spine},
        {"of unknown switches", slowed(healthy(8), 0.5, goes_between), spine},
        {"between pairs of one switch",
         on_switches(slowed(healthy(8), 0.5, goes_between), 8, 8),
         {}},
        {"between four switches", slowed(sixteen({}), 0.5, goes_between), spine},
        {"of four unknown ones", slowed(healthy(16), 0.5, goes_between), spine},
        {"what leaves a switch", slowed(sixteen({}), 0.5, leaves_first), {uplink}},
        {"all of a switch",
         sixteen({{4, 0.8}, {5, 0.8}, {6, 0.8}, {7, 0.8}}),
         {{.kind = Kind::leaf, .node = 4}}},
        {"but one: the switch is well",
         sixteen({{4, 0.8}, {6, 0.8}, {7, 0.8}}),
         {node(4), node(6), node(7)}},
        {"a node beside an uplink",
         slowed(sixteen({{9, 0.7}}), 0.5, leaves_first),
         {node(9), uplink}},
        {"a slow node and rail are one port", with_rails(one_slow, {1, 1, 0.85, 1}), {port(1, 2)}},
        {"of two rails", with_rails(one_slow, {1, 0.85}), {port(1, 1)}},
        {"two ports", with_rails(one_slow, {1, 0.85, 1, 0.85, 1}), {port(1, 1), port(1, 3)}},
        {"slow altogether", with_rails(one_slow, {0.85, 0.85, 0.85}), {node(1)}},
        {"a rail without a slow node", with_rails(healthy(4), {1, 1, 0.85, 1}), {rail_of_all(2)}},
        {"of two nodes", with_rails(healthy(2), {1, 0.85}), {rail_of_all(1)}},
        {"a rail without peers", with_rails(healthy(3), {0.1}), nobody},
        {"a rail that is hardly slower", with_rails(healthy(3), {1, 0.94}), nobody},
        {"the node that is as slow as the rail",
         with_rails(played({1, 0.5, 1, 1, 1, 0.7, 1, 1}), rail_3),
         {port(1, 3), node(5)}},
        {"both are", alike, {node(1), node(5)}},
        {"but one of them inside", inside, {port(1, 3), node(5)}},
        {"the rails of the pairs tell",
         with_pair_rails(alike, 8, 4, {{{1, 3}, 0.5}}),
         {port(1, 3), node(5)}},
        {"a port of each",
         with_pair_rails(alike, 8, 4, {{{1, 3}, 0.5}, {{5, 0}, 0.5}}),
         {port(1, 3), port(5, 0)}},
        {"none of which is the rail",
         with_pair_rails(alike, 8, 4, {{{1, 0}, 0.5}, {{1, 1}, 0.5}, {{5, 0}, 0.5}}),
         {port(1, 0), port(1, 1), port(5, 0), rail_of_all(3)}},
        {"all ports of a node",
         with_pair_rails(played({1, 0.5, 1, 1}), 4, 2, {{{1, 0}, 0.5}, {{1, 1}, 0.5}}),
         {node(1)}},
        {"a port is held against the same rail of others",
         with_pair_rails(with_rails(played({1, 0.5, 1, 1}), {0.5, 0.8, 1, 1}), 4, 4, ports),
         {port(1, 0), rail_of_all(1)}},
        {"the rails of one of three nodes are held against each other", three, {port(1, 1)}},
        {"inside, though no match shows it", slow_inside, {node(2)}},
        {"but not always: something disturbed it", disturbed, nobody},
        {"a drift of all is nobody's fault", drift, {node(5)}},
        {"a leaf needs a match beside it to be slow", two_leaves, {node(2)}},
        {"a disturbed match is no path", one_match, nobody},
        {"a low pair beside the error of its iterations",
         with_error(low_pair, 0.05),
         {{.kind = Kind::paths}}},
        {"a slow node, likewise", with_error(third_slow, 0.05), {node(2)}},
        {"which the error may explain", with_error(third_slow, 0.2), nobody},
    };
    for (const auto& [about, evidence, right] : rows) {
        EXPECT_EQ(limiters_of(evidence), right) << about;
    }
}

// Why nobody is named. As with few iterations on too few CPUs: a pair may be low by their error.
TEST(Blame, SaysWhatIsInDoubt) {
    const auto low_pair = slowed(played(std::vector<double>(8, 1)), 0.5, [](Pair pair) {
        return pair == Pair{0, 2};
    });
    auto together = played({1, 1, 1, 1});
    together.all_nodes = 0.4;
    auto noisy = played({1, 1, 1, 1});
    std::uint32_t state = 1;
    for (auto& match : noisy.matches) {
        state = state * 1664525U + 1013904223U;
        match.bandwidth *= 0.3 + 1.4 * (state >> 8U) / 16777216.0;
    }
    struct Row {
        Evidence evidence;
        Doubt doubt;
    };
    for (const auto& [evidence, right] : std::vector<Row>{
             {played({0.8, 0.8, 0.8, 1, 1, 1, 1, 1}), {Doubt::Kind::alike, {0, 1, 2}, 0.8}},
             {played({0.5, 0.8, 1, 1}), {Doubt::Kind::alike, {0, 1}, 0}},
             {on_switches(slowed(played(std::vector<double>(8, 1)), 0.5, goes_between), 8, 8),
              {Doubt::Kind::noise, {}, 0}},
             {on_switches(played({1, 1, 1, 1, 1, 0.5}), 6, 5),
              {Doubt::Kind::alone_on_switch, {5}, 0.5}},
             {with_error(low_pair, 0.1), {Doubt::Kind::noise, {}, 0.5}},
             {noisy, {Doubt::Kind::noise, {}, 0}},
             {together, {Doubt::Kind::all_nodes, {}, 0.4}}}) {
        const auto result = blame(evidence);
        EXPECT_TRUE(result.findings.empty());
        EXPECT_EQ(result.doubt.kind, right.kind);
        EXPECT_EQ(result.doubt.nodes, right.nodes);
        if (right.relative > 0) {
            EXPECT_NEAR(result.doubt.relative, right.relative, 1e-2);
        }
        for (const auto& pair : result.pairs) EXPECT_FALSE(pair.collision);
    }
    together.all_nodes = 0.5;
    EXPECT_EQ(blame(together).doubt, Doubt{});
}

// What a straight line through so large a change would make less than nothing.
TEST(Blame, ARunThatIsTenTimesFasterInTheEndHasNoNegativeRates) {
    for (const double share : {0.34, 0.45}) {
        auto evidence = played(std::vector<double>(16, 1));
        std::uint32_t state = 1;
        const double rounds = evidence.matches.back().round + 1.0;
        for (auto& match : evidence.matches) {
            state = state * 1664525U + 1013904223U;
            match.bandwidth *= 0.98 + 0.04 * (state >> 8U) / 16777216.0;
            if (match.round < share * rounds) match.bandwidth *= 0.1;
        }
        EXPECT_GE(blame(evidence).doubt.relative, 0);
    }
}

// How much single matches differ by chance is not known without any.
TEST(Blame, WithoutMatchesNoSignificanceIsKnown) {
    Evidence evidence;
    for (std::uint32_t rail = 0; rail < 4; ++rail) {
        evidence.rails[rail] = std::vector<double>(6, rail == 2 ? 0.85 : 1);
    }
    const auto result = blame(evidence);
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings.front().limiter.kind, Limiter::Kind::rail);
    EXPECT_EQ(result.findings.front().deviations, 0);
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
    EXPECT_TRUE(std::ranges::is_sorted(
        result.pairs, [](const auto& a, const auto& b) { return a.pair < b.pair; }));
}

Finding slow(Limiter limiter, double relative) {
    return {limiter, relative, 10};
}

TEST(NodesToRetest, AreThoseThatAreNamedTheSlowestFirst) {
    Blame blame;
    blame.findings = {slow({.kind = Kind::node_rail, .node = 3}, 0.8),
                      slow({.kind = Kind::node_rail, .node = 3, .local_rank = 1}, 0.7),
                      slow({.node = 5, .intermittent = true}, 0.4),
                      slow({.kind = Kind::rail}, 0.5),
                      slow({.kind = Kind::uplink, .node = 1}, 0.5),
                      slow({.kind = Kind::paths}, 0.5)};
    EXPECT_EQ(nodes_to_retest(blame, 8), (std::vector<std::uint32_t>{5, 3}));
    EXPECT_EQ(nodes_to_retest(blame, 3), std::vector<std::uint32_t>{5});
    EXPECT_TRUE(nodes_to_retest(Blame{}, 8).empty());
}

}  // namespace
}  // namespace distgpu::scaling
