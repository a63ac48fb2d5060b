// Text from values.
#include "base/format.h"

#include <gtest/gtest.h>

#include <vector>

namespace distgpu {
namespace {

TEST(Join, SeparatesTheItems) {
    EXPECT_EQ(join(std::vector<int>{}, ", "), "");
    EXPECT_EQ(join(std::vector<int>{1}, ", "), "1");
    EXPECT_EQ(join(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
}

TEST(Counted, OnlyOneIsSingular) {
    EXPECT_EQ(counted(1, "node"), "1 node");
    EXPECT_EQ(counted(0, "node"), "0 nodes");
    EXPECT_EQ(counted(4294967296, "node"), "4294967296 nodes");
}

}  // namespace
}  // namespace distgpu
