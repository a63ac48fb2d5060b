// Which limiters are found in clusters with known rates.
#include "analysis/limiters.h"

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
Evidence play(const std::vector<double>& rates) {
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

// Puts `each` consecutive nodes on each switch.
Evidence on_switches(Evidence evidence, std::uint32_t nodes, std::uint32_t each) {
    for (std::uint32_t node = 0; node < nodes; ++node) {
        evidence.leaves.push_back("s" + std::to_string(node / each));
    }
    return evidence;
}

template <class Predicate>
Evidence slowed(Evidence evidence, double rate, Predicate is_slowed) {
    for (auto& match : evidence.matches) {
        if (is_slowed(match.pair)) match.bandwidth *= rate;
    }
    return evidence;
}

Evidence with_error(Evidence evidence, double error) {
    for (auto& match : evidence.matches) match.relative_error = error;
    return evidence;
}

Limiters limiters_of(const Evidence& evidence) {
    Limiters limiters;
    for (const auto& finding : find_limiters(evidence).findings) {
        limiters.push_back(finding.limiter);
    }
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

TEST(FindLimiters, NoneIfAllNodesAreEqual) {
    for (const std::size_t nodes : {3U, 4U, 8U, 100U}) {
        const auto result = find_limiters(play(std::vector<double>(nodes, 1)));
        EXPECT_TRUE(result.is_decidable);
        EXPECT_TRUE(result.findings.empty()) << nodes;
        EXPECT_EQ(result.doubt, Doubt{}) << nodes;
    }
}

TEST(FindLimiters, SlowNodeWithItsRate) {
    for (const std::size_t nodes : {3U, 4U, 5U, 8U, 100U}) {
        for (std::uint32_t slow = 0; slow < 3; ++slow) {
            std::vector<double> rates(nodes, 1);
            rates[slow] = 0.85;
            const auto result = find_limiters(play(rates));
            ASSERT_EQ(result.findings.size(), 1) << nodes << ' ' << slow;
            EXPECT_EQ(result.findings[0].limiter, node(slow));
            EXPECT_NEAR(result.findings[0].relative_rate, 0.85, 3e-3);
            EXPECT_GT(result.findings[0].z_score, 5);
        }
    }
}

bool leaves_first(Pair pair) {
    return pair.first < 4 && pair.second >= 4;
}
bool goes_between(Pair pair) {
    return pair.first / 4 != pair.second / 4;
}

// 16 nodes, four on each switch.
Evidence sixteen_nodes(const std::map<std::uint32_t, double>& slow) {
    std::vector<double> rates(16, 1);
    for (const auto& [index, rate] : slow) rates[index] = rate;
    return on_switches(play(rates), 16, 4);
}

TEST(FindLimiters, NamesWhatIsSlow) {
    const Limiters no_limiter;
    const Limiters spine{{.kind = Kind::spine}};
    const Limiter uplink{.kind = Kind::uplink, .node = 0};
    const auto healthy = [](std::uint32_t nodes) { return play(std::vector<double>(nodes, 1)); };
    // Nodes 1 and 5 are slow, and one of them by rail 3.
    const std::vector<double> rail_3{1, 1, 1, 0.5};
    const auto equal_rates = with_rails(play({1, 0.5, 1, 1, 1, 0.5, 1, 1}), rail_3);
    auto inside = equal_rates;
    for (std::uint32_t one = 0; one < 8; ++one) inside.nodes_alone[one] = {one == 5 ? 0.5 : 1};
    const auto one_slow = play({1, 0.85, 1, 1});
    const auto low_pair = slowed(healthy(8), 0.5, [](Pair pair) { return pair == Pair{0, 2}; });
    const auto third_slow = play({1, 1, 0.85, 1, 1, 1, 1, 1});
    auto drift = play({1, 1, 1, 1, 1, 0.85, 1, 1});
    const double rounds = drift.matches.back().round;
    for (auto& match : drift.matches) match.bandwidth *= 1 - 0.3 * match.round / rounds;
    // Without node 2, all matches involve the first leaf, so that there is nothing to compare with.
    auto two_leaves = on_switches(play({1, 1, 0.1, 1}), 4, 2);
    double noise = 0;
    for (auto& match : two_leaves.matches) {
        noise = noise > 0.2 ? 0 : noise + 0.03;
        match.bandwidth *= 1 - noise;
    }
    auto one_match = healthy(4);
    one_match.matches.front().bandwidth = 0.1;
    // With three nodes, the rails of the slow one are compared only with each other.
    auto three = play({1, 0.5, 1});
    three.pair_rails = {{{0, 1}, 0, 1}, {{0, 1}, 1, 0.5}, {{1, 2}, 0, 1}, {{1, 2}, 1, 0.5}};
    auto slow_inside = healthy(4);
    slow_inside.nodes_alone = {{0, {480}}, {1, {480}}, {2, {400}}, {3, {480}}};
    auto disturbed = slow_inside;
    disturbed.nodes_alone[2] = {400, 480, 400};
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> ports{{{1, 0}, 0.5}};
    for (std::uint32_t one = 0; one < 4; ++one) ports[{one, 1}] = 0.8;
    struct Row {
        const char* about;
        Evidence evidence;
        Limiters expected;
    };
    const std::vector<Row> rows{
        {"two slow nodes with different rates", play({0.5, 0.85, 1, 1, 1, 1}), {node(0), node(1)}},
        {"less than 7 % is not slow", play({1, 1, 0.94, 1, 1, 1, 1, 1}), no_limiter},
        {"10 % is slow", play({1, 1, 0.90, 1, 1, 1, 1, 1}), {node(2)}},
        {"12 % among equal nodes is slow", play({1, 1, 1, 1, 1, 1, 1, 0.88}), {node(7)}},
        {"12 % among nodes that differ by 10 % is not slow",
         play({1.1, 1.1, 1.1, 1, 1, 1, 1, 0.88}), no_limiter},
        {"many slow nodes with different rates are not different hardware",
         play({0.8, 0.7, 0.6, 1, 1, 1, 1, 1}),
         {node(0), node(1), node(2)}},
        {"slow between two switches", on_switches(slowed(healthy(8), 0.5, goes_between), 8, 4),
         spine},
        {"slow between two unknown switches", slowed(healthy(8), 0.5, goes_between), spine},
        {"slow pairs on one switch", on_switches(slowed(healthy(8), 0.5, goes_between), 8, 8), {}},
        {"slow between four switches", slowed(sixteen_nodes({}), 0.5, goes_between), spine},
        {"slow between four unknown switches", slowed(healthy(16), 0.5, goes_between), spine},
        {"slow traffic that leaves a switch",
         slowed(sixteen_nodes({}), 0.5, leaves_first),
         {uplink}},
        {"all nodes of a switch",
         sixteen_nodes({{4, 0.8}, {5, 0.8}, {6, 0.8}, {7, 0.8}}),
         {{.kind = Kind::leaf, .node = 4}}},
        {"all but one node of a switch: the switch is healthy",
         sixteen_nodes({{4, 0.8}, {6, 0.8}, {7, 0.8}}),
         {node(4), node(6), node(7)}},
        {"a slow node and a slow uplink",
         slowed(sixteen_nodes({{9, 0.7}}), 0.5, leaves_first),
         {node(9), uplink}},
        {"a slow node and rail are one port", with_rails(one_slow, {1, 1, 0.85, 1}), {port(1, 2)}},
        {"a slow node and two slow rails are two ports",
         with_rails(one_slow, {1, 0.85, 1, 0.85, 1}),
         {port(1, 1), port(1, 3)}},
        {"a slow node and all rails slow", with_rails(one_slow, {0.85, 0.85, 0.85}), {node(1)}},
        {"a slow rail without a slow node",
         with_rails(healthy(4), {1, 1, 0.85, 1}),
         {rail_of_all(2)}},
        {"a slow rail of two nodes", with_rails(healthy(2), {1, 0.85}), {rail_of_all(1)}},
        {"a rail without peers", with_rails(healthy(3), {0.1}), no_limiter},
        {"a rail that is hardly slower", with_rails(healthy(3), {1, 0.94}), no_limiter},
        {"the node that is as slow as the rail",
         with_rails(play({1, 0.5, 1, 1, 1, 0.7, 1, 1}), rail_3),
         {port(1, 3), node(5)}},
        {"both nodes are as slow as the rail", equal_rates, {node(1), node(5)}},
        {"both are, but one of them is slow on its own", inside, {port(1, 3), node(5)}},
        {"both are, and the rails of the pairs identify the port",
         with_pair_rails(equal_rates, 8, 4, {{{1, 3}, 0.5}}),
         {port(1, 3), node(5)}},
        {"both are, and each has a slow port",
         with_pair_rails(equal_rates, 8, 4, {{{1, 3}, 0.5}, {{5, 0}, 0.5}}),
         {port(1, 3), port(5, 0)}},
        {"both are, but no slow port is on the slow rail",
         with_pair_rails(equal_rates, 8, 4, {{{1, 0}, 0.5}, {{1, 1}, 0.5}, {{5, 0}, 0.5}}),
         {port(1, 0), port(1, 1), port(5, 0), rail_of_all(3)}},
        {"all ports of a node",
         with_pair_rails(play({1, 0.5, 1, 1}), 4, 2, {{{1, 0}, 0.5}, {{1, 1}, 0.5}}),
         {node(1)}},
        {"a port is compared with the same rail of other nodes",
         with_pair_rails(with_rails(play({1, 0.5, 1, 1}), {0.5, 0.8, 1, 1}), 4, 4, ports),
         {port(1, 0), rail_of_all(1)}},
        {"with three nodes, the rails of one are compared with each other", three, {port(1, 1)}},
        {"slow on its own, but not in matches", slow_inside, {node(2)}},
        {"on its own only sometimes slow: a disturbance", disturbed, no_limiter},
        {"a drift of the whole cluster is not a fault", drift, {node(5)}},
        {"a leaf cannot be slow if all matches involve it", two_leaves, {node(2)}},
        {"a single disturbed match is not a path", one_match, no_limiter},
        {"a low pair, beyond the error of its iterations",
         with_error(low_pair, 0.05),
         {{.kind = Kind::paths}}},
        {"a slow node, beyond the error of its iterations",
         with_error(third_slow, 0.05),
         {node(2)}},
        {"a slow node within the error of its iterations", with_error(third_slow, 0.2), no_limiter},
    };
    for (const auto& [about, evidence, expected] : rows) {
        EXPECT_EQ(limiters_of(evidence), expected) << about;
    }
}

// The large errors are as with few iterations on too few CPUs.
TEST(FindLimiters, DoubtHasTheReasonWithoutALimiter) {
    const auto low_pair = slowed(play(std::vector<double>(8, 1)), 0.5, [](Pair pair) {
        return pair == Pair{0, 2};
    });
    auto together = play({1, 1, 1, 1});
    together.all_nodes_bandwidth = 0.4;
    auto noisy = play({1, 1, 1, 1});
    std::uint32_t state = 1;
    for (auto& match : noisy.matches) {
        state = state * 1664525U + 1013904223U;
        match.bandwidth *= 0.3 + 1.4 * (state >> 8U) / 16777216.0;
    }
    struct Row {
        Evidence evidence;
        Doubt doubt;
    };
    for (const auto& [evidence, expected] : std::vector<Row>{
             {play({0.8, 0.8, 0.8, 1, 1, 1, 1, 1}), {Doubt::Kind::common_cause, {0, 1, 2}, 0.8}},
             {play({0.5, 0.8, 1, 1}), {Doubt::Kind::common_cause, {0, 1}, 0}},
             {on_switches(slowed(play(std::vector<double>(8, 1)), 0.5, goes_between), 8, 8),
              {Doubt::Kind::noise, {}, 0}},
             {on_switches(play({1, 1, 1, 1, 1, 0.5}), 6, 5),
              {Doubt::Kind::alone_on_switch, {5}, 0.5}},
             {with_error(low_pair, 0.1), {Doubt::Kind::noise, {}, 0.5}},
             {noisy, {Doubt::Kind::noise, {}, 0}},
             {together, {Doubt::Kind::all_nodes_slow, {}, 0.4}}}) {
        const auto result = find_limiters(evidence);
        EXPECT_TRUE(result.findings.empty());
        EXPECT_EQ(result.doubt.kind, expected.kind);
        EXPECT_EQ(result.doubt.nodes, expected.nodes);
        if (expected.relative_rate > 0) {
            EXPECT_NEAR(result.doubt.relative_rate, expected.relative_rate, 1e-2);
        }
        for (const auto& pair : result.pairs) EXPECT_FALSE(pair.collides);
    }
    together.all_nodes_bandwidth = 0.5;
    EXPECT_EQ(find_limiters(together).doubt, Doubt{});
}

// A straight line through so large a change would become negative.
TEST(FindLimiters, ARunThatBecomesTenTimesFasterHasNoNegativeRates) {
    for (const double share : {0.34, 0.45}) {
        auto evidence = play(std::vector<double>(16, 1));
        std::uint32_t state = 1;
        const double rounds = evidence.matches.back().round + 1.0;
        for (auto& match : evidence.matches) {
            state = state * 1664525U + 1013904223U;
            match.bandwidth *= 0.98 + 0.04 * (state >> 8U) / 16777216.0;
            if (match.round < share * rounds) match.bandwidth *= 0.1;
        }
        EXPECT_GE(find_limiters(evidence).doubt.relative_rate, 0);
    }
}

// Without matches the noise is unknown.
TEST(FindLimiters, WithoutMatchesThereIsNoZScore) {
    Evidence evidence;
    for (std::uint32_t rail = 0; rail < 4; ++rail) {
        evidence.rails[rail] = std::vector<double>(6, rail == 2 ? 0.85 : 1);
    }
    const auto result = find_limiters(evidence);
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings.front().limiter.kind, Limiter::Kind::rail);
    EXPECT_EQ(result.findings.front().z_score, 0);
}

TEST(FindLimiters, TwoNodesOrOnePartnerAreNotEnough) {
    const auto result = find_limiters(play({1, 0.1}));
    EXPECT_FALSE(result.is_decidable);
    EXPECT_TRUE(result.findings.empty());
    EXPECT_EQ(result.pairs.size(), 1);
    Evidence evidence;
    evidence.matches = {{{0, 1}, 0.5}, {{2, 3}, 1}, {{4, 5}, 1}, {{6, 7}, 1}};
    EXPECT_FALSE(find_limiters(evidence).is_decidable);
    EXPECT_TRUE(find_limiters(evidence).findings.empty());
    EXPECT_FALSE(find_limiters({}).is_decidable);
}

// Slows the node's matches for which `is_slow` is true.
template <class Predicate>
Evidence intermittent_node(std::size_t nodes, std::uint32_t slow, Predicate is_slow) {
    auto evidence = play(std::vector<double>(nodes, 1));
    const auto rounds = evidence.matches.back().round + 1;
    for (auto& match : evidence.matches) {
        const bool own = match.pair.first == slow || match.pair.second == slow;
        if (own && is_slow(match.round, rounds)) match.bandwidth *= 0.5;
    }
    return evidence;
}

TEST(FindLimiters, NodeSlowInHalfOfItsMatchesOrInTheLastPart) {
    for (const std::size_t nodes : {8U, 16U, 32U}) {
        const Limiters expected{{.kind = Kind::node, .node = 2, .is_intermittent = true}};
        // Not every second match, because then every second partner would look like a slow path.
        EXPECT_EQ(
            limiters_of(intermittent_node(nodes, 2, [](auto r, auto) { return r * 7 % 11 < 5; })),
            expected)
            << nodes;
        EXPECT_EQ(limiters_of(
                      intermittent_node(nodes, 2, [](auto r, auto all) { return r > all * 0.6; })),
                  expected)
            << nodes;
    }
}

TEST(FindLimiters, ALowPairOfHealthyNodesIsACollision) {
    for (const std::size_t nodes : {4U, 8U}) {
        const auto result =
            find_limiters(slowed(play(std::vector<double>(nodes, 1)), 0.5, [](Pair pair) {
                return pair == Pair{0, 2};
            }));
        ASSERT_EQ(result.findings.size(), 1);
        EXPECT_EQ(result.findings[0].limiter, Limiter{.kind = Kind::paths});
        EXPECT_NEAR(result.findings[0].relative_rate, 0.5, 3e-3);
        for (const auto& pair : result.pairs) {
            EXPECT_EQ(pair.collides, pair.pair == (Pair{0, 2})) << nodes;
        }
    }
}

TEST(FindLimiters, PairsOfASlowNodeAreNotCollisions) {
    const auto result = find_limiters(slowed(play({0.5, 1, 1, 1, 1, 1}), 0.7, [](Pair pair) {
        return pair == Pair{1, 2};
    }));
    ASSERT_EQ(result.findings.size(), 2);
    EXPECT_EQ(result.findings[0].limiter, node(0));
    EXPECT_EQ(result.findings[1].limiter, Limiter{.kind = Kind::paths});
    for (const auto& pair : result.pairs) {
        EXPECT_EQ(pair.collides, pair.pair == (Pair{1, 2})) << pair.pair.second;
    }
    EXPECT_TRUE(std::ranges::is_sorted(
        result.pairs, [](const auto& a, const auto& b) { return a.pair < b.pair; }));
}

Finding slow(Limiter limiter, double relative_rate) {
    return {limiter, relative_rate, 10};
}

TEST(NodesToRetest, AreTheNamedNodesSlowestFirst) {
    LimiterAnalysis analysis;
    analysis.findings = {slow({.kind = Kind::node_rail, .node = 3}, 0.8),
                         slow({.kind = Kind::node_rail, .node = 3, .local_rank = 1}, 0.7),
                         slow({.node = 5, .is_intermittent = true}, 0.4),
                         slow({.kind = Kind::rail}, 0.5),
                         slow({.kind = Kind::uplink, .node = 1}, 0.5),
                         slow({.kind = Kind::paths}, 0.5)};
    EXPECT_EQ(nodes_to_retest(analysis, 8), (std::vector<std::uint32_t>{5, 3}));
    EXPECT_EQ(nodes_to_retest(analysis, 3), std::vector<std::uint32_t>{5});
    EXPECT_TRUE(nodes_to_retest(LimiterAnalysis{}, 8).empty());
}

}  // namespace
}  // namespace distgpu::scaling
