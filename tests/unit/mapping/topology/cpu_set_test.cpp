#include "mapping/topology/cpu_set.h"

#include "mapping/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

using testing::ElementsAre;

TEST(CpuSetParse, ReadsSinglesAndRanges) {
    const CpuSet set = *CpuSet::parse("0-2,8,63-64");
    EXPECT_THAT(set.cpus(), ElementsAre(0, 1, 2, 8, 63, 64));
    EXPECT_EQ(set.to_string(), "0-2,8,63-64");
    EXPECT_TRUE(CpuSet::parse("")->empty());
    EXPECT_EQ(CpuSet{}.to_string(), "");
    EXPECT_EQ(*CpuSet::parse("5,1-3,2-4"), CpuSet::range(1, 5));
    EXPECT_TRUE(CpuSet::parse("8191"));
    EXPECT_FALSE(CpuSet::parse("8192"));
}

TEST(CpuSetParse, RefusesWhatIsNoList) {
    for (const char* text :
         {"-", "1-", "-1", "3-1", "1,", ",1", "1,,2", "a", "1 2", "0x3", "1-2-3", "99999999999"}) {
        EXPECT_EQ(message_of(CpuSet::parse(text)), std::string("distgpu: CPU list ") + text +
                                                       ": not a list of CPUs; write it like 0-3,8");
    }
}

TEST(CpuSet, WordsAreTheKernelsBits) {
    const CpuSet set{0, 3, 64};
    EXPECT_THAT(set.words(), ElementsAre(0b1001, 1));
    EXPECT_EQ(CpuSet::from_words(set.words()), set);
}

TEST(CpuSet, EqualSetsAreEqualHoweverTheyCameAbout) {
    const CpuSet set = CpuSet{1, 200} - CpuSet{200};
    EXPECT_EQ(set, CpuSet{1});
    const std::vector<CpuSet::Word> padded{2, 0, 0};
    EXPECT_EQ(CpuSet::from_words(padded), CpuSet{1});
}

TEST(CpuSet, UnionCutAndDifference) {
    const CpuSet left{1, 2, 100};
    const CpuSet right{2, 3};
    EXPECT_EQ(left | right, (CpuSet{1, 2, 3, 100}));
    EXPECT_EQ(right | left, (CpuSet{1, 2, 3, 100}));
    EXPECT_EQ(left & right, CpuSet{2});
    EXPECT_EQ(right & left, CpuSet{2});
    EXPECT_EQ(left - right, (CpuSet{1, 100}));
    EXPECT_EQ(right - left, CpuSet{3});
}

TEST(CpuSet, CountsAndContains) {
    const CpuSet set{1, 2, 100};
    EXPECT_EQ(set.count(), 3U);
    EXPECT_EQ(set.count_in({2, 3, 100, 300}), 2U);
    EXPECT_TRUE(set.contains(100));
    EXPECT_FALSE(set.contains(101));
    EXPECT_FALSE(set.contains(1000));
    EXPECT_TRUE(set.contains(CpuSet{1, 100}));
    EXPECT_FALSE(set.contains(CpuSet{1, 200}));
    EXPECT_TRUE(set.contains(CpuSet{}));
    EXPECT_TRUE(set.intersects({100, 300}));
    EXPECT_FALSE(set.intersects({3, 300}));
}

}  // namespace
}  // namespace distgpu
