#include "run/output_files.h"

#include "scratch_folder.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

std::function<std::string()> text(std::string value) {
    return [value = std::move(value)] { return value; };
}

std::string must_not_be_made() {
    ADD_FAILURE() << "a text that nobody asked for";
    return "";
}

TEST(WriteFiles, OnlyThoseAskedFor) {
    const ScratchFolder folder;
    const std::string none;
    const std::string csv = folder.path("csv");
    EXPECT_EQ(write_files({{none, must_not_be_made}, {csv, text("c")}}), std::nullopt);
    EXPECT_EQ(folder.read("csv"), "c");
}

TEST(WriteFiles, OneThatFailsKeepsNoOtherBack) {
    const ScratchFolder folder;
    const std::string missing = "/nowhere/json";
    const std::string csv = folder.path("csv");
    const auto error = write_files({{missing, text("j")}, {csv, text("c")}});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->object, missing);
    EXPECT_EQ(folder.read("csv"), "c");
}

}  // namespace
}  // namespace distgpu::scaling
