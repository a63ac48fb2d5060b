#include "run/times.h"

#include "scratch_folder.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

std::vector<double> efficiencies(const std::vector<ScalingPoint>& points) {
    std::vector<double> values;
    values.reserve(points.size());
    for (const ScalingPoint& point : points) values.push_back(point.efficiency);
    return values;
}

// The promise of linear scaling: half the time on twice the nodes. Had each node kept its work, the
// same times were four times better than linear: E_w = 100 / 25.
TEST(ParseTimes, AHundredFiftyTwentyFiveIsLinear) {
    const auto report = parse_times({"1=100", "2=50", "4=25"});
    ASSERT_TRUE(report);
    EXPECT_EQ(efficiencies(report->strong), (std::vector<double>{1, 1, 1}));
    EXPECT_EQ(efficiencies(report->weak), (std::vector<double>{1, 2, 4}));
}

// 100 s of compute over 8 nodes are 12.5 s; with 1 s of exposed communication 13.5 s:
// E_s = 100 / (8 * 13.5).
TEST(ParseTimes, OrderDoesNotMatterAndSecondsHaveFractions) {
    const auto report = parse_times({"8=13.5", "1=1e2"});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->strong.back().nodes, 8U);
    EXPECT_NEAR(report->strong.back().efficiency, 0.926, 0.0005);
}

TEST(ParseTimes, Refusals) {
    struct Case {
        std::vector<std::string> times;
        std::string message;
    };
    const std::string form = ": not NODES=SECONDS; write 4=25 for 25 s on 4 nodes";
    for (const auto& [times, message] : std::vector<Case>{
             {{"1=abc", "2=50"}, "1=abc" + form},
             {{"1=100", "two=50"}, "two=50" + form},
             {{"1=100", "50"}, "50" + form},
             {{"1=100", "2=50s"}, "2=50s" + form},
             {{"1=", "2=50"}, "1=" + form},
             {{"1=inf", "2=50"}, "1=inf" + form},
             {{"1=100", "-2=50"}, "-2=50" + form},
             {{"1=100"},
              "times: 1 given; give times for at least two numbers of nodes, such as 1=100 2=50"},
             {{"1=100", "2=50", "2=51"},
              "times: 2 nodes given twice; give one time for each number of nodes"},
             {{"0=100", "2=50"}, "times: 0 nodes; the number of nodes must be at least 1"},
             {{"1=100", "2=0"}, "times: 0 s for 2 nodes; give seconds above 0"},
             {{"1=100", "2=-5"}, "times: -5 s for 2 nodes; give seconds above 0"}}) {
        const auto report = parse_times(times);
        ASSERT_FALSE(report) << message;
        EXPECT_EQ(report.error().message(), "distgpu: " + message);
    }
}

TEST(ReportTimes, WritesTheFilesAndTheTable) {
    const ScratchFolder folder;
    const auto report = parse_times({"1=100", "2=50"});
    ASSERT_TRUE(report);
    std::FILE* const out = std::fopen(folder.path("out").c_str(), "w");
    EXPECT_EQ(report_times(
                  {*report, {folder.path("json"), folder.path("csv"), folder.path("html")}}, out),
              std::nullopt);
    static_cast<void>(std::fclose(out));
    EXPECT_EQ(folder.read("out"), times_table(*report));
    EXPECT_EQ(folder.read("json"), times_json(*report));
    EXPECT_EQ(folder.read("csv"), times_csv(*report));
    EXPECT_NE(folder.read("html").find("distgpu.scaling-times/1"), std::string::npos);
}

}  // namespace
}  // namespace distgpu::scaling
