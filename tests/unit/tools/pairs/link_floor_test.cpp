// Which links carry far less than their interfaces could, and when that is proven.
#include "check/pairs/network_trial.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu {
namespace {

constexpr double giga = 1e9 / 8;  // bits, in bytes
constexpr double mega = 1e6 / 8;

// What each of some nodes has, and how each stream between them goes.
struct Conditions {
    double rate = 0;
    double speed = 0;
    double network = 1;  // share of the time in which the network was the limit
    double round_trip = 0.0001;
    double carried = 0;  // by each interface, in each direction
};

std::vector<TrialResult> tried(std::uint32_t nodes, const Conditions& all) {
    std::vector<TrialResult> results;
    for (std::uint32_t node = 0; node < nodes; ++node) {
        TrialResult result{node, {}, {}, {}, all.speed};
        for (const PairRound& round : pair_rounds(node, nodes)) {
            result.sent.push_back({round.to, "", all.round_trip, all.network});
            result.received.push_back({round.from, all.rate});
            result.traffic.push_back({all.carried, all.carried});
        }
        results.push_back(result);
    }
    return results;
}

// "1 sends to 0, 1 receives from 0 (perhaps)"
std::string text(const std::vector<NetworkFault>& faults) {
    std::string text;
    for (const NetworkFault& fault : faults) {
        const bool sends = fault.kind == NetworkFault::Kind::sends_slowly;
        text += (text.empty() ? "" : ", ") + std::to_string(fault.node) +
                (sends ? " sends to " : " receives from ") + std::to_string(fault.partners.at(0)) +
                (fault.is_proven ? "" : " (perhaps)");
    }
    return text;
}

std::string judged(const Conditions& all, std::uint32_t nodes = 2) {
    return text(find_network_faults(tried(nodes, all)));
}

constexpr const char* both_ways = "1 sends to 0, 1 receives from 0";
constexpr const char* perhaps = "1 sends to 0 (perhaps), 1 receives from 0 (perhaps)";

TEST(LinkFloor, IsATenthOfTheInterface) {
    EXPECT_EQ(judged({.rate = 940 * mega, .speed = 10 * giga}), both_ways);
    EXPECT_EQ(judged({.rate = 1.1 * giga, .speed = 10 * giga}), "");
    EXPECT_EQ(judged({.rate = 6 * mega, .speed = 0.1 * giga}), both_ways);
    EXPECT_EQ(judged({.rate = 94 * mega, .speed = 0.1 * giga}), "");
    // One stream cannot fill every interface.
    EXPECT_EQ(judged({.rate = 6 * giga, .speed = 400 * giga}), "");
    EXPECT_EQ(judged({.rate = 4 * giga, .speed = 400 * giga}), both_ways);
}

TEST(LinkFloor, OfAnUnknownInterfaceIsAWarningUnlessNoneIsThatSlow) {
    EXPECT_EQ(judged({.rate = 1.1 * giga}), "");
    EXPECT_EQ(judged({.rate = 940 * mega}), perhaps);
    EXPECT_EQ(judged({.rate = 11 * mega}), perhaps);
    EXPECT_EQ(judged({.rate = 6 * mega}), both_ways);
    EXPECT_EQ(judged({.rate = 0}), both_ways);
    // One that is known tells nothing of a link whose other end is not.
    auto results = tried(2, {.rate = 940 * mega});
    results[0].speed = 100 * giga;
    EXPECT_EQ(text(find_network_faults(results)), perhaps);
}

// A busy node is slow too: a node that fails needs proof.
TEST(LinkFloor, WithoutProofIsAtMostAWarning) {
    const Conditions slow{.rate = 6 * mega, .speed = 10 * giga};
    auto changed = slow;
    changed.network = 0.4;
    EXPECT_EQ(judged(changed), perhaps);
    changed = slow;
    changed.round_trip = 0.02;
    EXPECT_EQ(judged(changed), perhaps);
    // A rate that is good enough for most is not worth a line.
    changed = slow;
    changed.rate = 2 * giga;
    changed.speed = 100 * giga;
    changed.network = 0.4;
    EXPECT_EQ(judged(changed), "");
    // Nor is what a busy node does with an interface of which nothing is known.
    changed = slow;
    changed.speed = 0;
    changed.network = 0.4;
    EXPECT_EQ(judged(changed), "");
}

TEST(LinkFloor, CountsWhatOtherProcessesSend) {
    EXPECT_EQ(judged({.rate = 6 * mega, .speed = 10 * giga, .carried = 9 * giga}), "");
    EXPECT_EQ(judged({.rate = 6 * mega, .speed = 10 * giga, .carried = 8 * mega}), both_ways);
}

TEST(LinkFloor, OfTwoNodesTheSlowerInterfaceIsNamed) {
    auto results = tried(2, {.rate = 940 * mega, .speed = 100 * giga});
    results[0].speed = giga;
    EXPECT_EQ(text(find_network_faults(results)), "0 sends to 1, 0 receives from 1");
    std::swap(results[0].speed, results[1].speed);
    EXPECT_EQ(text(find_network_faults(results)), both_ways);
}

TEST(LinkFloor, OneDirectionIsEnough) {
    auto results = tried(2, {.rate = 40 * mega, .speed = giga});
    results[0].received[0].rate = 110 * mega;
    EXPECT_EQ(text(find_slow_links(results)), "1 receives from 0");
    results[0].received[0].rate = 40 * mega;
    results[1].received[0].rate = 110 * mega;
    EXPECT_EQ(text(find_slow_links(results)), "1 sends to 0");
}

// Of many nodes one is named if all of its links are slow, and for a slower partner nobody is.
TEST(LinkFloor, OfManyNodes) {
    EXPECT_EQ(judged({.rate = giga, .speed = 10 * giga}, 4), "");
    auto results = tried(4, {.rate = 10 * giga, .speed = 10 * giga});
    for (ReceiveResult& received : results[2].received) received.rate = 0.9 * giga;
    EXPECT_EQ(text(find_slow_links(results)), "2 receives from 1");
    results[2].received[0].rate = 9 * giga;
    EXPECT_EQ(text(find_slow_links(results)), "");
    results = tried(4, {.rate = 0.9 * giga, .speed = giga});
    results[0].speed = 100 * giga;
    EXPECT_EQ(text(find_slow_links(results)), "");
    EXPECT_NE(judged({.rate = mega, .speed = giga}, 4), "");
}

TEST(LinkFloor, IsProvenByTwoTrials) {
    const auto sure = find_slow_links(tried(2, {.rate = 6 * mega, .speed = giga}));
    const auto unsure =
        find_slow_links(tried(2, {.rate = 6 * mega, .speed = giga, .network = 0.1}));
    EXPECT_TRUE(has_slow_nodes(sure));
    EXPECT_EQ(text(common_faults(sure, sure)), both_ways);
    EXPECT_EQ(text(common_faults(sure, unsure)), perhaps);
    EXPECT_EQ(text(common_faults(unsure, sure)), perhaps);
    EXPECT_EQ(text(common_faults(sure, {})), "");
}

}  // namespace
}  // namespace distgpu
