// How busy GPUs are, by a library that stands in for NVIDIA's.
#include "inspect/gpu_load.h"

#include "made_up_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GpuLoadLines, HaveEachGpuThatTheLibraryKnows) {
    EXPECT_EQ(gpu_load_lines("0000:06:00.0,0000:07:00.0,x", DISTGPU_FAKE_NVML),
              "0000:07:00.0 97\n");
    EXPECT_EQ(gpu_load_lines("0000:07:00.0", "libdistgpu-no-such-library.so"), "");
    EXPECT_EQ(gpu_load_lines("", DISTGPU_FAKE_NVML), "");
}

TEST(ParseGpuLoad, FollowsTheOrderOfTheGpus) {
    EXPECT_THAT(parse_gpu_load("b 97\na 0\n", {"a", "b", "c"}), ElementsAre(0U, 97U, std::nullopt));
    EXPECT_THAT(parse_gpu_load("a 101\nb x\nc\n\nd 1 2", {"a", "b", "c", "d"}),
                ElementsAre(std::nullopt, std::nullopt, std::nullopt, std::nullopt));
    EXPECT_THAT(parse_gpu_load("", {}), IsEmpty());
}

class GpuLoadTest : public testing::Test {
  protected:
    // Stands in for `distgpu why --gpus`, and counts its calls.
    std::string program(const std::string& script) const {
        folder_.write("distgpu", "#!/bin/sh\necho >>" + folder_.path("calls") + "\n" + script);
        std::filesystem::permissions(folder_.path("distgpu"), std::filesystem::perms::owner_all);
        return folder_.path("distgpu");
    }
    std::uintmax_t calls() const { return std::filesystem::file_size(folder_.path("calls")); }

    MadeUpFolder folder_;
};

TEST_F(GpuLoadTest, AsksAProcess) {
    GpuLoad load({"a", "b"}, program("echo \"b 5\"; [ \"$1 $2 $3\" = \"why --gpus a,b\" ]\n"));
    EXPECT_THAT(load.ask(), ElementsAre(std::nullopt, 5U));
    EXPECT_THAT(load.ask(), ElementsAre(std::nullopt, 5U));
    EXPECT_EQ(calls(), 2U);
}

// A driver that hangs.
TEST_F(GpuLoadTest, WaitsOnceForOneThatDoesNotEnd) {
    GpuLoad load({"a"}, program("echo \"a 5\"; sleep 60\n"));
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_THAT(load.ask(), ElementsAre(std::nullopt));
    EXPECT_THAT(load.ask(), ElementsAre(std::nullopt));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
    EXPECT_EQ(calls(), 1U);
}

TEST_F(GpuLoadTest, AsksNotAgainWhereThereIsNoLibrary) {
    GpuLoad load({"a"}, program("exit 0\n"));
    EXPECT_THAT(load.ask(), ElementsAre(std::nullopt));
    EXPECT_THAT(load.ask(), ElementsAre(std::nullopt));
    EXPECT_EQ(calls(), 1U);
    EXPECT_THAT(GpuLoad({}, program("exit 0\n")).ask(), IsEmpty());
}

}  // namespace
}  // namespace distgpu
