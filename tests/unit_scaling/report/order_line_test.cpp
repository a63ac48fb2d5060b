#include "report/order_line.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

// The ratios of the rounds are 4, 2, 3, 4 and 2: sorted 2, 2, 3, 4, 4.
Results compared() {
    Results results;
    results.orders.emplace();
    results.orders->by_name = {{0, 1}, 8, {0.4, 0.2, 0.6, 0.4, 0.2}};
    results.orders->by_switch = {{1, 0}, 2, {0.1, 0.1, 0.2, 0.1, 0.1}};
    results.orders->bytes = 1U << 20U;
    return results;
}

TEST(OrderLine, JudgesTheRoundsByPairs) {
    EXPECT_EQ(
        order_line(compared()),
        "# order: all-reduce float, 1 MiB takes 100000 us by switch, 400000 us by name: 3.00 "
        "times as fast (quartiles of 5 rounds: 2.00 to 4.00); the ring crosses switches 2 times "
        "(by name: 8)\n");
}

TEST(OrderLine, SaysThatBothOrdersAreTheSame) {
    Results results = compared();
    results.orders->by_name.times.clear();
    results.orders->by_switch.times.clear();
    EXPECT_EQ(order_line(results), "# order: ranks by switch are in the same order as by name\n");
}

TEST(OrderLine, IsEmptyWhereTheyWereNotAskedFor) {
    EXPECT_EQ(order_line({}), "");
}

}  // namespace
}  // namespace distgpu::scaling
