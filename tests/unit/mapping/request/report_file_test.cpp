#include "mapping/request/report_file.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

const StepNames names{.job = 12, .step = 3, .user = "eva"};

TEST(ReportFile, ReplacesWhatDiffersBetweenSteps) {
    EXPECT_EQ(with_names("/r/%u/%j.%s.json", names), "/r/eva/12.3.json");
    EXPECT_EQ(with_names("%j%j%%j", names), "1212%j");
    EXPECT_EQ(with_names("", names), "");
    for (const char* wrong : {"%", "a%", "%x", "%J", "%5j", "%%%"}) {
        EXPECT_EQ(with_names(wrong, names), std::nullopt) << wrong;
    }
}

TEST(ReportFile, LiesWhereTheStepBegins) {
    EXPECT_EQ(report_file({.on = true}, names, "/home/eva"), "/home/eva/distgpu-12.3.json");
    EXPECT_EQ(report_file({true, "out/%s.json"}, names, "/home/eva"), "/home/eva/out/3.json");
    EXPECT_EQ(report_file({true, "./3.json"}, names, "/home/eva"), "/home/eva/3.json");
    EXPECT_EQ(report_file({true, "/r/%u.json"}, names, "/home/eva"), "/r/eva.json");
}

// A user's name may hold a percent sign.
TEST(ReportFile, NamesAreNoPatterns) {
    EXPECT_EQ(with_names("%u/%j", {.job = 1, .user = "a%jb"}), "a%jb/1");
}

}  // namespace
}  // namespace distgpu
