// Every folder of tests/golden but binding is one case: a step, and the plan of all its tasks.
#include "golden_file.h"
#include "golden_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace distgpu::golden {
namespace {

std::vector<std::string> cases() {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(DISTGPU_SOURCE_DIR "/tests/golden")) {
        if (entry.is_directory() && entry.path().filename() != "binding") {
            names.push_back(entry.path().filename());
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

class GoldenPlan : public testing::TestWithParam<std::string> {};

TEST_P(GoldenPlan, IsAsExpected) {
    const std::filesystem::path folder =
        std::filesystem::path(DISTGPU_SOURCE_DIR "/tests/golden") / GetParam();
    const auto golden_case = read_case(read_file(folder / "case"));
    ASSERT_TRUE(golden_case) << golden_case.error().message();
    const auto text = case_plan(*golden_case);
    ASSERT_TRUE(text) << text.error().message();
    expect_file(folder / "plan.json", *text);
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
    std::string name = info.param;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenPlan, testing::ValuesIn(cases()), test_name);

}  // namespace
}  // namespace distgpu::golden
