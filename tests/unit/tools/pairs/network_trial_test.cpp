// Who tries the network with whom, the lines of the trial, and the trial itself over this machine's
// loopback.
#include "check/pairs/network_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;
using testing::SizeIs;

TEST(PairRounds, DistancesDouble) {
    EXPECT_THAT(pair_rounds(0, 1), IsEmpty());
    EXPECT_THAT(pair_rounds(0, 2), ElementsAre(PairRound{1, 1}));
    EXPECT_THAT(pair_rounds(1, 3), ElementsAre(PairRound{2, 0}, PairRound{0, 2}));
    EXPECT_THAT(pair_rounds(6, 8), ElementsAre(PairRound{7, 5}, PairRound{0, 4}, PairRound{2, 2}));
    // No sum of places and distances overflows.
    const std::uint32_t most = 4'294'967'295;
    const auto rounds = pair_rounds(most - 1, most);
    ASSERT_EQ(rounds.size(), 32U);
    EXPECT_EQ(rounds.back(), (PairRound{(1U << 31U) - 1, (1U << 31U) - 2}));
}

// In each round every node sends to one and hears from one, never itself; and over all rounds no
// pair of nodes is tried twice in one direction.
TEST(PairRounds, EachRoundIsAPermutation) {
    for (const std::uint32_t nodes : {2U, 3U, 5U, 8U, 31U, 32U, 33U, 1024U}) {
        std::set<std::pair<std::uint32_t, std::uint32_t>> tried;
        std::size_t rounds = 0;
        for (std::uint32_t place = 0; place < nodes; ++place) {
            const auto own = pair_rounds(place, nodes);
            rounds = own.size();
            for (std::size_t round = 0; round < own.size(); ++round) {
                EXPECT_NE(own[round].to, place);
                EXPECT_TRUE(tried.emplace(place, own[round].to).second);
                EXPECT_EQ(pair_rounds(own[round].to, nodes)[round].from, place);
            }
        }
        // The least whole number that is no smaller than the logarithm.
        EXPECT_GE(std::uint64_t{1} << rounds, nodes);
        EXPECT_LT(std::uint64_t{1} << (rounds - 1), nodes);
    }
}

const TrialOrder order{3,
                       std::string(64, 'a'),
                       {{4, {"10.0.0.4", 4000}, {{"br0", {"10.1.0.4", 4000}}}}},
                       {{2, {"fd00::2", 65535}}},
                       200};
const TrialResult result{3,
                         {{4, "no answer", 0}, {5, "", 0.25, 0.5}},
                         {{2, 1.5e9}},
                         {2, 4},
                         1.25e9,
                         {{1e6, 2e6}},
                         {{4, "br0", "refused"}}};

TEST(TrialLines, AreReadBack) {
    EXPECT_EQ(decode_order(encode(order)), order);
    EXPECT_EQ(decode_result(encode(result)), result);
    EXPECT_EQ(encode(order).find('\n'), std::string::npos);
}

TEST(TrialLines, OtherTextIsNone) {
    for (const char* text : {"", "{}", "null", R"({"node": -1})", R"({"node": 3, "key": 7})"}) {
        EXPECT_FALSE(decode_order(text)) << text;
        EXPECT_FALSE(decode_result(text)) << text;
    }
    std::string named = encode(order);
    named.replace(named.find("10.0.0.4"), 8, "evil.org");
    EXPECT_FALSE(decode_order(named)) << "a name would be looked up";
}

TEST(TrialAddress, IsAnIpAddressAndAPort) {
    for (const TrialAddress& address :
         {TrialAddress{"10.77.1.2", 40123}, TrialAddress{"fd00::2", 1}}) {
        EXPECT_EQ(parse_trial_address(to_text(address)), address);
    }
    for (const char* text :
         {"", "10.77.1.2", "10.77.1.2:", "10.77.1.2:65536", "node02:80", ":80"}) {
        EXPECT_FALSE(parse_trial_address(text)) << text;
    }
}

// As many nodes of one process, at addresses of the loopback of their own, and rank 0.
class Trial : public testing::Test {
  protected:
    explicit Trial(std::uint32_t nodes = 5) {
        for (std::uint32_t node = 0; node < nodes; ++node) {
            auto ports = open_trial_ports("127.0.0." + std::to_string(node + 1));
            auto ends = NodeLink::connected_pair();
            members_.push_back({node * 10, ports->address, std::move(ends->first)});
            ports_.push_back(std::move(ports));
            links_.push_back(std::move(ends->second));
        }
    }

    // Every node but those of `silent` takes part. If this machine is so busy that nothing of a
    // stream arrives in its time, the trial is repeated, as rank 0 does for a slow node.
    std::vector<TrialResult> tried(const std::vector<std::uint32_t>& silent = {}, int least = 1) {
        verdicts_.resize(members_.size());
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            if (std::find(silent.begin(), silent.end(), i) != silent.end()) continue;
            threads.emplace_back([this, i] {
                verdicts_[i] = join_trial(std::move(ports_[i]), links_[i], Clock::now() + 30s);
            });
        }
        auto results = run_network_trial(members_);
        for (int i = 1; i < least || (i < 20 && any_rate_is_zero(results)); ++i) {
            results = run_network_trial(members_);
        }
        send_verdict(members_, 4);
        for (std::thread& thread : threads) thread.join();
        return results;
    }

    static bool any_rate_is_zero(const std::vector<TrialResult>& results) {
        return std::any_of(results.begin(), results.end(), [](const TrialResult& each) {
            return std::any_of(each.received.begin(), each.received.end(),
                               [](const ReceiveResult& heard) { return heard.rate == 0; });
        });
    }

    std::vector<TrialMember> members_;
    std::vector<std::optional<TrialPorts>> ports_;
    std::vector<NodeLink> links_;
    std::vector<std::optional<std::string>> verdicts_;
};

TEST_F(Trial, EveryNodeMeasuresItsPartnersAndHearsTheVerdict) {
    const auto results = tried({}, 2);
    ASSERT_THAT(results, SizeIs(5));
    for (const TrialResult& each : results) {
        EXPECT_THAT(each.sent, SizeIs(3));
        EXPECT_THAT(each.received, SizeIs(3));
        // In a ring of five all others are partners in one direction or the other.
        EXPECT_THAT(each.datagram_senders, SizeIs(4));
        EXPECT_THAT(each.traffic, SizeIs(3));
        for (const SendResult& sent : each.sent) {
            EXPECT_EQ(sent.problem, "");
            EXPECT_GT(sent.round_trip, 0);
        }
        for (const ReceiveResult& heard : each.received) EXPECT_GT(heard.rate, 0);
    }
    for (const NodeRates& rates : node_rates(results)) {
        EXPECT_TRUE(rates.in && rates.out && rates.round_trip);
    }
    for (const auto& verdict : verdicts_) EXPECT_EQ(verdict, "verdict 4");
}

// How fast the nodes are, on this machine's CPUs, is another matter.
std::vector<NetworkFault> cut_nodes(const std::vector<TrialResult>& results) {
    auto faults = find_network_faults(results);
    std::erase_if(faults, [](const NetworkFault& fault) {
        return fault.kind != NetworkFault::Kind::unreachable;
    });
    return faults;
}

TEST_F(Trial, ANodeWhosePortIsClosedIsCut) {
    ports_[2]->listener = Socket();
    const auto faults = cut_nodes(tried());
    ASSERT_THAT(faults, SizeIs(1));
    EXPECT_EQ(faults[0].node, 20U);
    EXPECT_EQ(faults[0].problem, "Connection refused");
    EXPECT_TRUE(faults[0].packets_arrive);
    EXPECT_TRUE(faults[0].packets_leave);
}

TEST_F(Trial, ASilentNodeKeepsNobody) {
    const auto start = Clock::now();
    const auto results = tried({1});
    EXPECT_THAT(results, SizeIs(4));
    EXPECT_LT(Clock::now() - start, max_trial_time);
    EXPECT_EQ(verdicts_[0], "verdict 4");
}

TEST_F(Trial, WhoDoesNotAnswerIsNamedBeforeTheVerdict) {
    // Node 10 is silent, 20 has ended, 30 lacks two ranks, 40 has all; node 0 is rank 0's own.
    links_[2] = NodeLink(Socket(), Proof::none, std::nullopt, "");
    links_[3].send(std::string(trial_prefix::answer) + silent_ranks_text({7, 12}),
                   Clock::now() + 1s);
    links_[4].send(std::string(trial_prefix::answer) + silent_ranks_text({}), Clock::now() + 1s);
    const auto silence = find_silent_ranks(members_, 0, [] { return std::set<std::uint32_t>{1}; });
    EXPECT_EQ(silence.nodes, (std::set<std::uint32_t>{10, 20}));
    EXPECT_EQ(silence.ranks, (std::set<std::uint32_t>{1, 7, 12}));
    EXPECT_EQ(links_[1].wait_for_line(Clock::now() + 1s), trial_prefix::question);
}

TEST_F(Trial, OneNodeAloneTriesNothing) {
    members_.erase(members_.begin() + 1, members_.end());
    EXPECT_THAT(tried(), IsEmpty());
    EXPECT_EQ(verdicts_[0], "verdict 4");
}

// What a node does not expect: another program's text, and a member that speaks for another.
TEST_F(Trial, StrangersAreNotHeard) {
    const TrialAddress address = *members_[1].address;
    std::thread strangers([&] {
        for (int i = 0; i < 50; ++i) {
            const auto socket = connect_to(address.host, address.port, Clock::now() + 1s);
            if (!socket) continue;
            const std::string greeting =
                std::string(64, 'f') + " 0\n?????" + std::string(5000, 'x');
            static_cast<void>(send_all(*socket, greeting, Clock::now() + 1s));
        }
    });
    const auto results = tried();
    strangers.join();
    ASSERT_THAT(results, SizeIs(5));
    EXPECT_THAT(results[1].received, SizeIs(3));
    EXPECT_THAT(cut_nodes(results), IsEmpty());
}

}  // namespace
}  // namespace distgpu
