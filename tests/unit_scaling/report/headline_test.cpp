#include "report/headline.h"

#include "made_up_results.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace distgpu::scaling {
namespace {

constexpr std::uint64_t gib = 1ULL << 30U;

// One and two nodes of two ranks, 1 GiB. The factors of all-reduce are 1 and 3/2.
Results measured(double of_one, double of_two) {
    auto results = made_up_results(2, 2);
    const double size = gib;
    add_measurement(results, add_nodes(results, 1), {.bytes = gib, .seconds = size / of_one});
    add_measurement(results, add_nodes(results, 2), {.bytes = gib, .seconds = 1.5 * size / of_two});
    return results;
}

std::string text(const Results& results, std::optional<ExpectedBandwidth> expected = {}) {
    const auto headline = headline_of(results, std::move(expected));
    return headline ? headline_text(results, *headline) : "";
}

TEST(Headline, IsMeasuredAndAShareOfOneNode) {
    EXPECT_EQ(text(measured(400e9, 300e9)), "all-reduce 300 GB/s at 1 GiB, 75% of 1 node");
}

TEST(Headline, AndOfWhatIsExpected) {
    EXPECT_EQ(text(measured(400e9, 300e9), ExpectedBandwidth{375e9, "--expect"}),
              "all-reduce 300 GB/s at 1 GiB, 75% of 1 node, 80% of the 375 GB/s of --expect");
}

TEST(Headline, OneNodeIsNoShareOfItself) {
    auto results = made_up_results(1, 2);
    add_measurement(results, add_nodes(results, 1), {.bytes = gib, .seconds = 0.5});
    EXPECT_EQ(text(results), "all-reduce 2.147 GB/s at 1 GiB");
}

TEST(Headline, LargestSizeOfTheFirstCollectiveOutOfPlace) {
    auto results = measured(400e9, 300e9);
    add_measurement(results, 1, {.in_place = true, .bytes = gib, .seconds = 1});
    add_measurement(results, 1, {.bytes = 8, .seconds = 1});
    add_measurement(results, 1,
                    {.collective = Collective::broadcast, .bytes = 2 * gib, .seconds = 1});
    EXPECT_EQ(main_measurement(results), 1U);
}

TEST(Headline, NothingOfAllNodesIsNothing) {
    auto results = measured(400e9, 300e9);
    results.measurements.pop_back();
    EXPECT_EQ(text(results), "");
    EXPECT_EQ(text({}), "");
}

// The published figures of one node of eight H100 are 480 and 370 GB/s, and a lower limit of 460.
TEST(Headline, APublishedFigureIsTheBestOfTheModel) {
    auto results = made_up_results(1, 8);
    results.backend = "nccl";
    results.nodes[0].gpus = std::vector<std::string>(8, "NVIDIA H100 80GB HBM3");
    // The factor of eight ranks is 7/4: 240 GB/s.
    add_measurement(results, add_nodes(results, 1), {.bytes = gib, .seconds = 1.75 * gib / 240e9});
    EXPECT_EQ(text(results),
              "all-reduce 240 GB/s at 1 GiB, 50% of the 480 GB/s of published figures");
    results.backend = "mpi";
    EXPECT_EQ(text(results), "all-reduce 240 GB/s at 1 GiB");
}

}  // namespace
}  // namespace distgpu::scaling
