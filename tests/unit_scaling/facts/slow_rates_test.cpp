#include "facts/slow_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A GPU like an H100, with PCIe 5 and a port of 400 Gb/s.
const Rates healthy{2.9e12, 55e9, 54e9, 50e9};

// What is said of one rank among seven healthy ones.
std::vector<std::string> unusual(const Rates& rates) {
    std::vector<RankFacts> ranks(8, {"GPU 0", "mlx5_0", {}, healthy});
    ranks[5] = {"GPU 5", "mlx5_5", {}, rates};
    add_slow_rates(ranks);
    EXPECT_THAT(ranks[0].unusual, IsEmpty());
    return ranks[5].unusual;
}

TEST(SlowRates, StandBesideTheMedian) {
    EXPECT_THAT(unusual({1.8e12, 55e9, 54e9, 50e9}),
                ElementsAre("GPU 5: copies within its memory at 62% of the median of all ranks, "
                            "1.8 TB/s"));
    EXPECT_THAT(
        unusual({2.9e12, 27.5e9, 27e9, 25e9}),
        ElementsAre("GPU 5: copies from the host's memory at 50% of the median of all ranks, "
                    "27.5 GB/s",
                    "GPU 5: copies to the host's memory at 50% of the median of all ranks, "
                    "27.0 GB/s",
                    "mlx5_5: its link at 50% of the median of all ranks, 200 Gb/s"));
}

TEST(SlowRates, AFewPerCentAreNotUnusual) {
    EXPECT_THAT(unusual({0.86 * 2.9e12, 0.86 * 55e9, 0.86 * 54e9, 0.86 * 50e9}), IsEmpty());
    EXPECT_EQ(unusual({0.84 * 2.9e12, 0.84 * 55e9, 0.84 * 54e9, 0.84 * 50e9}).size(), 4U);
}

TEST(SlowRates, WhatWasNotMeasuredIsNotSlow) {
    EXPECT_THAT(unusual({}), IsEmpty());
    std::vector<RankFacts> nothing(2);
    add_slow_rates(nothing);
    EXPECT_THAT(nothing[0].unusual, IsEmpty());
}

// Below what was unusual of the rank already.
TEST(SlowRates, ComeLast) {
    std::vector<RankFacts> ranks(3, {"GPU 0", "", {"GPU 0: Xid 79 during the run"}, healthy});
    ranks[1].rates.memory = 1e12;
    add_slow_rates(ranks);
    ASSERT_EQ(ranks[1].unusual.size(), 2U);
    EXPECT_EQ(ranks[1].unusual[0], "GPU 0: Xid 79 during the run");
}

}  // namespace
}  // namespace distgpu::scaling
