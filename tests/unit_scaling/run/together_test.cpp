#include "run/together.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using Counts = std::vector<std::uint32_t>;

// 20 runs of the slowest take 40 s: 20 of 2 s, 40 of 1 s, 27 of 1.5 s rounded up.
TEST(IterationsTogether, AllRunAsLongAsTheSlowest) {
    EXPECT_EQ(iterations_together({1, 2, 1.5}, {20}), (Counts{40, 20, 27}));
}

TEST(IterationsTogether, AtMostTenTimesAsOften) {
    EXPECT_EQ(iterations_together({0.001, 1}, {20}), (Counts{200, 20}));
}

TEST(IterationsTogether, AGroupThatRunsNothing) {
    EXPECT_EQ(iterations_together({0, 1, 0}, {5}), (Counts{5, 5, 5}));
    EXPECT_EQ(iterations_together({0, 0}, {5}), (Counts{5, 5}));
}

// 10 runs of 0.25 s are more than a second: 4. Of 2 s three are needed to have a median.
TEST(IterationsTogether, ALoopThatWouldTakeTooLongIsCut) {
    EXPECT_EQ(iterations_together({0.25, 0.125}, {10, 0, 1}), (Counts{4, 8}));
    EXPECT_EQ(iterations_together({2}, {10, 0, 1}), Counts{3});
    EXPECT_EQ(iterations_together({2}, {2, 0, 1}), Counts{2});
    EXPECT_EQ(iterations_together({0.001}, {10, 0, 1}), Counts{10});
}

// 6 s of 0.5 s: 12. Each time goes to rank 0, so a thousand are enough.
TEST(IterationsTogether, ALoopOfASoakLastsLonger) {
    EXPECT_EQ(iterations_together({0.5, 0.25}, {10, 6, 6}), (Counts{12, 24}));
    EXPECT_EQ(iterations_together({0.0001, 0.00005}, {10, 6, 6}), (Counts{1000, 1000}));
    EXPECT_EQ(iterations_together({0.0001}, {2000, 6, 6}), Counts{2000});
}

}  // namespace
}  // namespace distgpu::scaling
