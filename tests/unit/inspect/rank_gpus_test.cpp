// Which GPUs of the node a rank's variables name.
#include "inspect/rank_gpus.h"

#include "base/environment_copy.h"
#include "mapping/binding/two_socket_node.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

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

TEST(NamedGpus, AreThoseThatDistgpuRecorded) {
    const NodeTopology topology = two_socket_node({0, 2});
    const BoundRecord bound{{}, {{"0", topology.gpus[1].pci}}};
    EXPECT_EQ(addresses({{"CUDA_VISIBLE_DEVICES", "0"}}, bound),
              (std::vector<std::string>{"0 " + topology.gpus[1].pci + " /dev/nvidia7"}));
    // Of which the record has nothing.
    EXPECT_EQ(addresses({{"CUDA_VISIBLE_DEVICES", "1"}, {"SLURM_GPUS_ON_NODE", "2"}}, bound),
              (std::vector<std::string>{"1  "}));
}

TEST(NamedGpus, AreCountedWhereTheStepHasAll) {
    const NodeTopology topology = two_socket_node({0, 2});
    EXPECT_EQ(addresses({{"CUDA_VISIBLE_DEVICES", "1,0,9"}, {"SLURM_GPUS_ON_NODE", "2"}}, {}),
              (std::vector<std::string>{"1 " + topology.gpus[1].pci + " /dev/nvidia7",
                                        "0 " + topology.gpus[0].pci + " ", "9  "}));
    // Another step may have the first.
    EXPECT_EQ(addresses({{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_GPUS_ON_NODE", "1"}}, {}),
              (std::vector<std::string>{"0  "}));
}

TEST(NamedGpus, AreKnownByUuid) {
    const NodeTopology topology = two_socket_node({0, 2});
    EXPECT_EQ(
        addresses({{"CUDA_VISIBLE_DEVICES", "GPU-1,GPU-2"}}, {}),
        (std::vector<std::string>{"GPU-1 " + topology.gpus[1].pci + " /dev/nvidia7", "GPU-2  "}));
    EXPECT_EQ(addresses({}, {}), std::vector<std::string>{});
}

TEST(OpenGpuFiles, AreNoOtherFiles) {
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(open_gpu_files(getpid()), std::vector<std::string>{});
    close(null);
    EXPECT_EQ(open_gpu_files(-1), std::vector<std::string>{});
}

}  // namespace
}  // namespace distgpu
