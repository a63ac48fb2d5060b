// Every batch script and Azure ML job of tests/convert becomes what stands beside it in expected,
// with these notes. That the results train is shown by tests/frameworks/convert.bats.
#include "base/format.h"
#include "convert/conversion.h"
#include "golden_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace distgpu::golden {
namespace {

const std::filesystem::path folder = DISTGPU_SOURCE_DIR "/tests/convert";

std::vector<std::string> inputs() {
    std::vector<std::string> names;
    for (const char* kind : {"scripts", "azure"}) {
        for (const auto& file : std::filesystem::directory_iterator(folder / kind)) {
            names.push_back(formatted("{}/{}", kind, file.path().filename().string()));
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

class Convert : public testing::TestWithParam<std::string> {};

TEST_P(Convert, IsAsExpected) {
    const std::string name = GetParam().substr(GetParam().find('/') + 1);
    const auto conversion = convert_file(name, read_file(folder / GetParam()));
    ASSERT_TRUE(conversion) << conversion.error().message();
    std::string text;
    for (const Note& note : conversion->notes) {
        text += formatted("{}:{}: {}\n", name, note.line, note.text);
    }
    expect_file(folder / "expected" / (name + ".txt"), text + "\n" + conversion->script);
    // What is converted once has nothing more to convert.
    if (!conversion->script.empty()) {
        const auto again = convert_file("again.sbatch", conversion->script);
        ASSERT_TRUE(again);
        EXPECT_EQ(again->diff, "");
    }
}

// The script that README shows first.
TEST(ConvertReadme, IsAsExpected) {
    const std::string page = read_file(DISTGPU_SOURCE_DIR "/README.md");
    const std::size_t begin = page.find("```\n") + 4;
    const auto conversion =
        convert_file("readme.sbatch", page.substr(begin, page.find("```\n", begin) - begin));
    ASSERT_TRUE(conversion) << conversion.error().message();
    expect_file(folder / "expected" / "readme.sbatch.txt", conversion->script);
}

INSTANTIATE_TEST_SUITE_P(Files, Convert, testing::ValuesIn(inputs()), [](const auto& parameter) {
    std::string name = parameter.param;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
    return name;
});

}  // namespace
}  // namespace distgpu::golden
