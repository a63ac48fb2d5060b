// What measurements of the network mean.
#include "check/pairs/network_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = NetworkFault::Kind;

// By the sender and the taker: a rate, or that no connection comes about.
struct Way {
    double rate = 1e9;
    bool connects = true;
    bool passes = true;  // datagrams
};
using Network = std::function<Way(std::uint32_t from, std::uint32_t to)>;

std::vector<TrialResult> tried(std::uint32_t nodes, const Network& network) {
    std::vector<TrialResult> results;
    for (std::uint32_t node = 0; node < nodes; ++node) {
        TrialResult result{node, {}, {}, {}};
        for (const PairRound& round : pair_rounds(node, nodes)) {
            const bool there = network(node, round.to).connects;
            result.sent.push_back({round.to, there ? "" : "no answer", there ? 1e-4 : 0});
            const Way in = network(round.from, node);
            if (in.connects) result.received.push_back({round.from, in.rate});
            for (const std::uint32_t other : {round.to, round.from}) {
                if (network(other, node).passes) result.datagram_senders.push_back(other);
            }
        }
        results.push_back(result);
    }
    return results;
}

std::string text(const std::vector<NetworkFault>& faults) {
    std::string text;
    for (const NetworkFault& fault : faults) {
        text += fault.kind == Kind::unreachable    ? "cut"
                : fault.kind == Kind::sends_slowly ? "sends"
                                                   : "takes";
        text += " " + std::to_string(fault.node);
        for (const std::uint32_t partner : fault.partners) text += "-" + std::to_string(partner);
        if (fault.kind == Kind::unreachable) {
            text += fault.packets_arrive ? " arrives" : "";
            text += fault.packets_leave ? " leaves" : "";
        }
        text += "\n";
    }
    return text;
}

std::string judged(std::uint32_t nodes, const Network& network) {
    return text(find_network_faults(tried(nodes, network)));
}

TEST(UnusableInterfaces, AreThoseThatSomePairsCannotUse) {
    std::vector<TrialResult> results{{0, {}, {}, {}}, {1, {}, {}, {}}};
    results[0].more = {{1, "eth1", ""}, {1, "br0", "refused"}, {1, "ib0", ""}};
    results[1].more = {{0, "eth1", "no answer"}, {0, "br0", "closed"}, {0, "ib0", ""}};
    EXPECT_THAT(find_unusable_interfaces(results),
                ElementsAre(UnusableInterface{"br0", 0, 1, "refused", 2, 2},
                            UnusableInterface{"eth1", 1, 0, "no answer", 1, 2}));
}

TEST(JudgeNetwork, OfAHealthyOneNothingIsTold) {
    for (const std::uint32_t nodes : {2U, 3U, 4U, 7U, 32U}) {
        EXPECT_EQ(judged(nodes, [](auto, auto) { return Way{}; }), "");
    }
    EXPECT_THAT(find_network_faults({}), IsEmpty());
}

// A node whose link carries this much where it sends.
Network slow_from(std::uint32_t node, double rate = 1e8) {
    return [=](std::uint32_t from, std::uint32_t) { return Way{from == node ? rate : 1e9}; };
}

TEST(JudgeNetwork, ASlowLinkIsItsNodes) {
    for (const std::uint32_t nodes : {3U, 4U, 5U, 32U}) {
        const Network slow = [](std::uint32_t from, std::uint32_t to) {
            return Way{from == 2 || to == 2 ? 1e8 : 1e9};
        };
        EXPECT_EQ(judged(nodes, slow), "sends 2\ntakes 2\n") << nodes;
    }
    EXPECT_EQ(judged(8, slow_from(5)), "sends 5\n");
    EXPECT_EQ(judged(8, [](auto, auto to) { return Way{to == 5 ? 1e8 : 1e9}; }), "takes 5\n");
    // Nothing at all is less than a third too.
    EXPECT_EQ(judged(8, slow_from(5, 0)), "sends 5\n");
}

// Two switches with a link between them that carries two nodes' worth: as many cross it in a round
// as its distance is, and share it.
TEST(JudgeNetwork, AnUplinkThatManyShareIsNoNodesFault) {
    const Network two_switches = [](std::uint32_t from, std::uint32_t to) {
        const double crossing = (to + 16 - from) % 16;
        return Way{(from < 8) == (to < 8) ? 1e9 : std::min(1e9, 2e9 / crossing)};
    };
    EXPECT_EQ(judged(16, two_switches), "");
}

TEST(JudgeNetwork, OfTwoNodesTheSecondIsNamed) {
    const Network none = [](auto, auto) { return Way{1e9, false, false}; };
    EXPECT_EQ(judged(2, slow_from(0)), "takes 1\n");
    EXPECT_EQ(judged(2, slow_from(1)), "sends 1\n");
    EXPECT_EQ(judged(2, none), "cut 1-0\n");
}

// Connections need both directions; what passes of the datagrams tells which is cut.
TEST(JudgeNetwork, ACutLinkWithItsDirection) {
    const auto cut = [](bool first, bool second) -> Network {
        return [=](std::uint32_t from, std::uint32_t to) {
            if (from == 1 && to == 3) return Way{1e9, false, first};
            if (from == 3 && to == 1) return Way{1e9, false, second};
            return Way{};
        };
    };
    EXPECT_EQ(judged(4, cut(true, false)), "cut 3-1 arrives\n");
    EXPECT_EQ(judged(4, cut(false, true)), "cut 3-1 leaves\n");
    EXPECT_EQ(judged(4, cut(true, true)), "cut 3-1 arrives leaves\n");
    EXPECT_EQ(judged(4, cut(false, false)), "cut 3-1\n");
}

Way lone(std::uint32_t from, std::uint32_t to) {
    return from == 2 || to == 2 ? Way{1e9, false, false} : Way{};
}

// One node explains all its pairs; that it is not slow, as it has no rates, goes without saying.
TEST(JudgeNetwork, ANodeThatNobodyReaches) {
    EXPECT_EQ(judged(8, lone), "cut 2-0-1-3-4-6\n");
}

TEST(JudgeNetwork, TwoCutsAreTwoFaults) {
    const Network cuts = [](std::uint32_t from, std::uint32_t to) {
        const auto pair = std::minmax(from, to);
        const bool cut = pair == std::minmax(0U, 1U) || pair == std::minmax(4U, 5U);
        return cut ? Way{1e9, false, false} : Way{};
    };
    EXPECT_EQ(judged(8, cuts), "cut 5-4\ncut 1-0\n");
}

TEST(TwoTrials, TellWhatHoldsInBoth) {
    const auto slow = [](std::uint32_t node) {
        return find_network_faults(tried(8, slow_from(node)));
    };
    EXPECT_TRUE(has_slow_nodes(slow(5)));
    EXPECT_EQ(text(common_faults(slow(5), slow(5))), "sends 5\n");
    EXPECT_EQ(text(common_faults(slow(5), slow(3))), "");
    const auto cut = find_network_faults(tried(8, lone));
    EXPECT_FALSE(has_slow_nodes(cut));
    EXPECT_EQ(text(common_faults(slow(2), cut)), "");
}

TEST(NodeRates, AreTheBestOfEachNode) {
    const std::vector<TrialResult> results{
        {4, {{7, "", 2e-4}, {9, "", 1e-4}}, {{7, 10}, {9, 30}}, {}},
        {7, {{4, "", 3e-4}}, {{4, 20}, {9, 5}}, {}},
        {9, {{4, "no answer", 0}}, {{4, 40}}, {}}};
    EXPECT_THAT(node_rates(results),
                ElementsAre(NodeRates{4, 40, 30, 1e-4}, NodeRates{7, 10, 20, 3e-4},
                            NodeRates{9, 30, 40, std::nullopt}));
}

}  // namespace
}  // namespace distgpu
