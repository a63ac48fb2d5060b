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
    EXPECT_EQ(
        write_files({"", folder.path("csv"), ""}, {must_not_be_made, text("c"), must_not_be_made}),
        std::nullopt);
    EXPECT_EQ(folder.read("csv"), "c");
}

TEST(WriteFiles, OneThatFailsKeepsNoOtherBack) {
    const ScratchFolder folder;
    const auto error = write_files({"/nowhere/json", folder.path("csv"), "/nowhere/html"},
                                   {text("j"), text("c"), text("h")});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->object, "/nowhere/json");
    EXPECT_EQ(folder.read("csv"), "c");
}

}  // namespace
}  // namespace distgpu::scaling
