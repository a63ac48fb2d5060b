// The masks in Slurm's variable.
#include "node/own_task.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(ParseMasks, ReadsOneForEachTask) {
    EXPECT_EQ(parse_masks("0x3,0xC0", 2), (std::vector<CpuSet>{{0, 1}, {6, 7}}));
    EXPECT_EQ(parse_masks("0x100000000000000000", 1), (std::vector<CpuSet>{{68}}));
}

TEST(ParseMasks, TakesNothingElse) {
    for (const char* list : {"0x3", "0x3,0x4,0x8", "0x3,", "0x3,0x0", "0x3,0xG", ""}) {
        EXPECT_TRUE(parse_masks(list, 2).empty()) << list;
    }
    EXPECT_TRUE(parse_masks("", 1).empty());
}

}  // namespace
}  // namespace distgpu
