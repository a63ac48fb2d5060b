#include "report/text_file.h"

#include "report/report_json.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace distgpu::scaling {
namespace {

TEST(ReadTextFile, AllOfIt) {
    const std::string path = std::filesystem::path(testing::TempDir()) / "scaling_text_file";
    for (const std::size_t size : {0U, 1U, 65536U, 65537U}) {
        std::ofstream(path) << std::string(size, 'a');
        const auto text = read_text_file(path, "");
        ASSERT_TRUE(text);
        EXPECT_EQ(*text, std::string(size, 'a'));
    }
    std::filesystem::remove(path);
}

TEST(ReadTextFile, SaysWhyNot) {
    EXPECT_EQ(read_text_file("/nowhere/file", "give another").error().message(),
              "distgpu: /nowhere/file: No such file or directory; give another");
    EXPECT_EQ(read_text_file("/", "give a file").error().message(),
              "distgpu: /: Is a directory; give a file");
    EXPECT_EQ(read_results("/").error().problem, "Is a directory");
}

}  // namespace
}  // namespace distgpu::scaling
