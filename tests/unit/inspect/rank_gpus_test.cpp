// Which GPUs a rank's variables name, and how busy they are by a library that stands in for
// NVIDIA's.
#include "inspect/rank_gpus.h"

#include "base/environment.h"
#include "made_up_folder.h"
#include "mapping/binding/two_socket_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> addresses(const EnvironmentCopy::Variables& variables,
                                   const BoundRecord& bound) {
    NodeTopology topology = two_socket_node({0, 2});
    topology.gpus[1].uuid = "GPU-1";
    topology.gpus[1].minor = 7;
    std::vector<std::string> found;
    for (const GpuFacts& gpu : named_gpus(EnvironmentCopy(variables), bound, topology)) {
        found.push_back(gpu.name + " " + gpu.pci + " " + gpu.file);
    }
    return found;
}

TEST(NamedGpus, AreThoseThatAreKnown) {
    using Found = std::vector<std::string>;
    const NodeTopology topology = two_socket_node({0, 2});
    const std::string first = topology.gpus[0].pci;
    const std::string second = topology.gpus[1].pci + " /dev/nvidia7";
    const BoundRecord bound{{}, {{"0", topology.gpus[1].pci}}};
    const auto visible = [](const char* names, const char* on_node = "2") {
        return EnvironmentCopy::Variables{{"CUDA_VISIBLE_DEVICES", names},
                                          {"SLURM_GPUS_ON_NODE", on_node}};
    };
    EXPECT_EQ(addresses(visible("0"), bound), Found{"0 " + second});
    // Of which the record has nothing.
    EXPECT_EQ(addresses(visible("1"), bound), Found{"1  "});
    // Without a record they are counted where the step has all: another may have the first.
    EXPECT_EQ(addresses(visible("1,0,9"), {}), (Found{"1 " + second, "0 " + first + " ", "9  "}));
    EXPECT_EQ(addresses(visible("0", "1"), {}), Found{"0  "});
    EXPECT_EQ(addresses(visible("GPU-1,GPU-2"), {}), (Found{"GPU-1 " + second, "GPU-2  "}));
    EXPECT_EQ(addresses({}, {}), Found{});
    // The list ends at the first item that is no GPU. Slurm may have set AMD's variable too.
    for (const char* const hiding : {"", "-1", "-1,0", "NoDevFiles"}) {
        auto variables = visible(hiding);
        variables["ROCR_VISIBLE_DEVICES"] = "0";
        EXPECT_EQ(addresses(variables, {}), Found{}) << hiding;
    }
}

// distgpu gives each task another GPU in ROCR_VISIBLE_DEVICES, and 0 in CUDA_VISIBLE_DEVICES.
TEST(NamedGpus, OfAmdAreThoseThatTwoVariablesLeave) {
    NodeTopology topology = two_socket_node({0, 2});
    for (Gpu& gpu : topology.gpus) gpu.vendor = GpuVendor::amd;
    const BoundRecord bound{{}, {{"0", topology.gpus[0].pci}, {"1", topology.gpus[1].pci}}};
    const auto names = [&](const EnvironmentCopy::Variables& variables) {
        std::string found;
        for (const GpuFacts& gpu : named_gpus(EnvironmentCopy(variables), bound, topology)) {
            found += gpu.name;
        }
        return found;
    };
    EXPECT_EQ(names({{"CUDA_VISIBLE_DEVICES", "0"}, {"ROCR_VISIBLE_DEVICES", "1"}}), "1");
    EXPECT_EQ(names({{"CUDA_VISIBLE_DEVICES", "1,0,2"}, {"ROCR_VISIBLE_DEVICES", "1,0"}}), "01");
    EXPECT_EQ(names({{"HIP_VISIBLE_DEVICES", "1"},
                     {"CUDA_VISIBLE_DEVICES", "0"},
                     {"ROCR_VISIBLE_DEVICES", "1,0"}}),
              "0");
    EXPECT_EQ(names({{"CUDA_VISIBLE_DEVICES", ""}, {"ROCR_VISIBLE_DEVICES", "1"}}), "1");
    EXPECT_EQ(names({{"CUDA_VISIBLE_DEVICES", "1"}}), "1");
}

TEST(OpenGpuFiles, AreNoOtherFiles) {
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(open_gpu_files(getpid()), std::vector<std::string>{});
    close(null);
    EXPECT_EQ(open_gpu_files(-1), std::vector<std::string>{});
}

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

// Of a program that stands in for `distgpu why --gpus`, asked twice; of a driver that hangs, and
// where there is no library, only once.
TEST(ReadGpuLoad, AsksAProcessOfItsOwn) {
    const MadeUpFolder folder;
    const std::string program = folder.path("distgpu");
    struct Case {
        const char* script;
        std::vector<GpuLoad> busy;
        std::uintmax_t calls;
    };
    const std::vector<Case> cases{
        {"echo \"b 5\"; [ \"$1 $2 $3\" = \"why --gpus a,b\" ]", {std::nullopt, 5U}, 2},
        {"echo \"a 5\"; sleep 60", {std::nullopt, std::nullopt}, 1},
        {"exit 0", {std::nullopt, std::nullopt}, 1}};
    for (const auto& [script, busy, calls] : cases) {
        folder.write("calls", "");
        folder.write_program("distgpu",
                             "#!/bin/sh\necho >>" + folder.path("calls") + "\n" + script);
        bool answers = true;
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_EQ(read_gpu_load({"a", "b"}, program, answers), busy);
        EXPECT_EQ(read_gpu_load({"a", "b"}, program, answers), busy);
        EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
        EXPECT_EQ(std::filesystem::file_size(folder.path("calls")), calls) << script;
        EXPECT_THAT(read_gpu_load({}, program, answers), IsEmpty());
    }
}

}  // namespace
}  // namespace distgpu
