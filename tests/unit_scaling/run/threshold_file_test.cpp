#include "run/threshold_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

TEST(ParseThresholds, ALineEach) {
    const auto thresholds = parse_thresholds(
        "# collective, size, ranks, GB/s\n"
        "all-reduce,1G,16,180\n"
        "\n"
        "  all-to-all , 64K , 2 , 0.5   # slow on purpose\r\n"
        "all-reduce, 1G, 32, 1.7e2\r\n"
        "all-reduce,\t64K,\t16,\t1",
        "limits");
    ASSERT_TRUE(thresholds);
    ASSERT_EQ(thresholds->size(), 4U);
    Threshold first;
    first.collective = Collective::all_reduce;
    first.bytes = 1ULL << 30U;
    first.ranks = 16;
    first.bandwidth = 180e9;  // GB are 10^9 bytes
    EXPECT_EQ(thresholds->at(0), first);
    Threshold second;
    second.collective = Collective::all_to_all;
    second.bytes = 65536;
    second.ranks = 2;
    second.bandwidth = 0.5e9;
    EXPECT_EQ(thresholds->at(1), second);
    EXPECT_DOUBLE_EQ(thresholds->at(2).bandwidth, 170e9);
    EXPECT_EQ(thresholds->at(3).bytes, 65536U);
}

TEST(ParseThresholds, RefusalsNameTheLine) {
    struct Case {
        std::string text;
        std::string place_and_problem;
    };
    for (const auto& [text, place_and_problem] : std::vector<Case>{
             {"# none\n\n", "limits: contains no threshold"},
             {"", "limits: contains no threshold"},
             {"all-reduce,1G,16", "limits, line 1: 3 items, not 4"},
             {"# two\nall-reduce,1G,16,180,\n", "limits, line 2: 5 items, not 4"},
             {"all-redcue,1G,16,180", "limits, line 1: 'all-redcue' is not a collective"},
             {"\x1b[2J,1G,16,180", "limits, line 1: '?[2J' is not a collective"},
             {"all-reduce,1T,16,180", "limits, line 1: '1T' is not a size"},
             {"all-reduce,1G,1,180", "limits, line 1: '1' is not a number of ranks from 2"},
             {"all-reduce,1G,16x,180", "limits, line 1: '16x' is not a number of ranks from 2"},
             {"all-reduce,1G,16,fast", "limits, line 1: 'fast' is not a bandwidth above 0"},
             {"all-reduce,1G,16,0", "limits, line 1: '0' is not a bandwidth above 0"},
             {"all-reduce,1G,16,1e300", "limits, line 1: '1e300' is not a bandwidth above 0"},
             {"all-reduce,1G,16,nan", "limits, line 1: 'nan' is not a bandwidth above 0"}}) {
        const auto thresholds = parse_thresholds(text, "limits");
        ASSERT_FALSE(thresholds) << text;
        EXPECT_EQ(thresholds.error().message(),
                  "distgpu: " + place_and_problem +
                      "; write collective, size, ranks, GB/s: all-reduce, 1G, 16, 180");
    }
}

// 1G and 1024M are one size.
TEST(ParseThresholds, TwoForTheSameAreRefused) {
    const auto thresholds =
        parse_thresholds("all-reduce,1G,16,180\nreduce,1G,16,1\nall-reduce,1024M,16,200\n", "f");
    ASSERT_FALSE(thresholds);
    EXPECT_EQ(thresholds.error().message(),
              "distgpu: f, line 3: an earlier line already has these; keep one of the two");
}

}  // namespace
}  // namespace distgpu::scaling
