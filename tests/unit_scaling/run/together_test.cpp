#include "run/together.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using Counts = std::vector<std::uint32_t>;

// 20 runs of the slowest take 40 s: 20 of 2 s, 40 of 1 s, 27 of 1.5 s rounded up.
TEST(IterationsTogether, AllRunAsLongAsTheSlowest) {
    EXPECT_EQ(iterations_together({1, 2, 1.5}, 20), (Counts{40, 20, 27}));
}

TEST(IterationsTogether, AtMostTenTimesAsOften) {
    EXPECT_EQ(iterations_together({0.001, 1}, 20), (Counts{200, 20}));
}

TEST(IterationsTogether, AGroupThatRunsNothing) {
    EXPECT_EQ(iterations_together({0, 1, 0}, 5), (Counts{5, 5, 5}));
    EXPECT_EQ(iterations_together({0, 0}, 5), (Counts{5, 5}));
}

}  // namespace
}  // namespace distgpu::scaling
