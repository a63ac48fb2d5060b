// Which measurements tell nodes and rails apart.
#include "analysis/evidence.h"

#include "made_up_results.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

std::size_t add_pair(Results& results, std::uint32_t first, std::uint32_t second) {
    return add_group(
        results, {.kind = Group::Kind::pair, .nodes = {first, second}, .ranks = 2, .number = 0});
}

std::size_t add_rail(Results& results, std::uint32_t local_rank, std::uint32_t ranks) {
    return add_group(
        results, {.kind = Group::Kind::rail, .nodes = {}, .ranks = ranks, .number = local_rank});
}

TEST(EvidenceOf, EachMatchWithItsBusBandwidth) {
    auto results = made_up_results(3, 1);
    const auto pair = add_pair(results, 2, 0);
    // Of two ranks the factor of all-reduce is 1. The same pair twice is two matches.
    add_measurement(results, pair, {.bytes = 100, .seconds = 2});
    add_measurement(results, pair, {.bytes = 100, .seconds = 4});
    add_measurement(results, add_pair(results, 0, 1), {.bytes = 100, .seconds = 1});
    const auto matches = evidence_of(results).matches;
    ASSERT_EQ(matches.size(), 3);
    EXPECT_EQ(matches[0].pair, (Pair{0, 2}));
    EXPECT_DOUBLE_EQ(matches[0].bandwidth, 50);
    EXPECT_DOUBLE_EQ(matches[1].bandwidth, 25);
    EXPECT_EQ(matches[2].pair, (Pair{0, 1}));
    EXPECT_DOUBLE_EQ(matches[2].bandwidth, 100);
}

TEST(EvidenceOf, OnlyTheLargestSizeOfOneSubjectCounts) {
    auto results = made_up_results(3, 1);
    const auto pair = add_pair(results, 0, 1);
    add_measurement(results, pair, {.bytes = 8, .seconds = 1});
    add_measurement(results, pair, {.bytes = 100, .seconds = 1});
    add_measurement(results, pair, {.bytes = 100, .seconds = 5});
    add_measurement(results, pair, {.in_place = true, .bytes = 100, .seconds = 1});
    add_measurement(results, pair,
                    {.collective = Collective::broadcast, .bytes = 100, .seconds = 1});
    add_measurement(results, add_nodes(results, 3), {.bytes = 1000, .seconds = 1});
    const auto matches = evidence_of(results).matches;
    ASSERT_EQ(matches.size(), 2);
    EXPECT_DOUBLE_EQ(matches[0].bandwidth, 100);
    EXPECT_DOUBLE_EQ(matches[1].bandwidth, 20);
}

TEST(EvidenceOf, RailsByLocalRank) {
    auto results = made_up_results(4, 2);
    // Of four ranks the factor is 1.5.
    add_measurement(results, add_rail(results, 1, 4), {.bytes = 100, .seconds = 1});
    const auto rails = evidence_of(results).rails;
    ASSERT_EQ(rails.size(), 1);
    EXPECT_EQ(rails[0].local_rank, 1);
    EXPECT_DOUBLE_EQ(rails[0].bandwidth, 150);
}

TEST(EvidenceOf, OneNodeHasNone) {
    auto results = made_up_results(1, 8);
    add_measurement(results, add_nodes(results, 1), {.bytes = 50, .seconds = 2});
    const auto evidence = evidence_of(results);
    EXPECT_TRUE(evidence.matches.empty());
    EXPECT_TRUE(evidence.rails.empty());
}

}  // namespace
}  // namespace distgpu::scaling
