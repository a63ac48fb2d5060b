#include "run/whole_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace distgpu::scaling {
namespace {

namespace fs = std::filesystem;

TEST(ReplaceFile, LeavesOneWholeFile) {
    const fs::path folder = fs::path(testing::TempDir()) / "scaling_whole_file";
    fs::create_directory(folder);
    const fs::path file = folder / "results.json";
    EXPECT_EQ(replace_file(file, "a longer text"), std::nullopt);
    EXPECT_EQ(replace_file(file, "new"), std::nullopt);
    std::ifstream stream(file);
    EXPECT_EQ(std::string(std::istreambuf_iterator(stream), {}), "new");
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
    fs::remove_all(folder);
}

TEST(ReplaceFile, SaysWhichFileAndWhy) {
    const auto error = replace_file("/nowhere/results.json", "");
    ASSERT_TRUE(error);
    EXPECT_EQ(error->object, "/nowhere/results.json");
    EXPECT_EQ(error->problem, "No such file or directory");
}

}  // namespace
}  // namespace distgpu::scaling
