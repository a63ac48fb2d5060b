// A task's GPUs: their device nodes on file systems of the test's own, and their memory.
#include "check/checks.h"
#include "made_up_folder.h"
#include "map_environment.h"
#include "tools/findings_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace distgpu {
namespace {

namespace fs = std::filesystem;
using Variables = MapEnvironment::Variables;

class Gpus : public testing::Test {
  protected:
    Gpus() { fs::create_directories(roots().dev + "/dri"); }

    MachineRoots roots() const { return {.sys = folder_.path("sys"), .dev = folder_.path("dev")}; }

    // A plain file stands for a device that opens.
    void device(const std::string& name) const { folder_.write("dev/" + name, ""); }
    // A socket cannot be opened: ENXIO, as of a device without a driver.
    void dead_device(const std::string& name) const {
        ASSERT_EQ(mknod((roots().dev + "/" + name).c_str(), S_IFSOCK | 0666U, 0), 0);
    }

    // The messages of all findings, a line each.
    std::string findings(const Variables& variables, const NodeTopology* topology) const {
        return without_root(text(check_gpus(MapEnvironment(variables), topology, roots())));
    }

    std::string without_root(std::string found) const {
        const std::string dev = roots().dev;
        for (auto at = found.find(dev); at != std::string::npos; at = found.find(dev)) {
            found.replace(at, dev.size(), "/dev");
        }
        return found;
    }

  private:
    MadeUpFolder folder_;
};

NodeTopology with_gpus(GpuVendor vendor, std::size_t count) {
    NodeTopology topology;
    for (std::size_t i = 0; i < count; ++i) {
        Gpu gpu;
        gpu.vendor = vendor;
        gpu.pci = "0000:0" + std::to_string(i + 1) + ":00.0";
        topology.gpus.push_back(gpu);
    }
    return topology;
}

TEST_F(Gpus, NvidiasOpenWhereAllIsWell) {
    device("nvidia0");
    device("nvidia1");
    device("nvidiactl");
    EXPECT_EQ(findings({{"CUDA_VISIBLE_DEVICES", "1,0"}}, nullptr), "");
    const auto count = [](const Variables& variables) {
        return visible_gpu_count(MapEnvironment(variables), nullptr);
    };
    EXPECT_EQ(count({{"CUDA_VISIBLE_DEVICES", "1,0"}}), 2U);
    EXPECT_EQ(count({{"CUDA_VISIBLE_DEVICES", "-1"}}), 0U);
    EXPECT_EQ(count({}), 0U);
}

TEST_F(Gpus, ANodeIsMissingOrDead) {
    device("nvidia0");
    dead_device("nvidia1");
    EXPECT_EQ(findings({{"CUDA_VISIBLE_DEVICES", "0,1,2"}}, nullptr),
              "failed /dev/nvidia1: no driver answers\n"
              "failed /dev/nvidia2: No such file or directory\n");
    // Nobody asked for the second.
    EXPECT_EQ(findings({{"CUDA_VISIBLE_DEVICES", "0"}}, nullptr), "");
    // The control node is needed where it is.
    dead_device("nvidiactl");
    EXPECT_EQ(findings({{"CUDA_VISIBLE_DEVICES", "0"}}, nullptr),
              "failed /dev/nvidiactl: no driver answers\n");
}

TEST_F(Gpus, TheTopologyKnowsTheNodeOfAnIndex) {
    device("nvidia0");
    dead_device("nvidia1");
    NodeTopology topology = with_gpus(GpuVendor::nvidia, 2);
    topology.gpus[0].minor = 1;
    topology.gpus[1].minor = 0;
    EXPECT_EQ(findings({{"CUDA_VISIBLE_DEVICES", "0"}}, &topology),
              "failed /dev/nvidia1: no driver answers\n");
    EXPECT_EQ(findings({{"CUDA_VISIBLE_DEVICES", "1"}}, &topology), "");
}

// UUIDs, also of MIG instances, tell no node: one that opens is enough, as several instances may be
// of one GPU.
TEST_F(Gpus, ByUuidOneHasToOpen) {
    dead_device("nvidia0");
    EXPECT_EQ(findings({{"CUDA_VISIBLE_DEVICES", "MIG-1,MIG-2"}}, nullptr),
              "failed /dev/nvidia0: no driver answers\n");
    device("nvidia1");
    EXPECT_EQ(findings({{"CUDA_VISIBLE_DEVICES", "MIG-1,MIG-2"}}, nullptr), "");
}

TEST_F(Gpus, AmdsAreKfdAndARenderNode) {
    NodeTopology topology = with_gpus(GpuVendor::amd, 1);
    topology.gpus[0].minor = 128;
    dead_device("dri/renderD128");
    // ROCR_VISIBLE_DEVICES comes with CUDA_VISIBLE_DEVICES.
    const Variables task{{"CUDA_VISIBLE_DEVICES", "0"}, {"ROCR_VISIBLE_DEVICES", "0"}};
    EXPECT_EQ(findings(task, &topology),
              "failed /dev/kfd: No such file or directory\n"
              "failed /dev/dri/renderD128: no driver answers\n");
    device("kfd");
    fs::remove(roots().dev + "/dri/renderD128");
    device("dri/renderD128");
    EXPECT_EQ(findings(task, &topology), "");
}

TEST_F(Gpus, IntelsAreARenderNodeAlsoOfATile) {
    NodeTopology topology = with_gpus(GpuVendor::intel, 2);
    topology.gpus[1].minor = 129;
    dead_device("dri/renderD129");
    EXPECT_EQ(findings({{"ZE_AFFINITY_MASK", "0"}}, &topology), "");
    EXPECT_EQ(findings({{"ZE_AFFINITY_MASK", "1.0"}}, &topology),
              "failed /dev/dri/renderD129: no driver answers\n");
}

// Without flags in gres.conf, Slurm sets the variables of all vendors.
TEST_F(Gpus, AVariableThatHidesThemIsAWarningAndNoLookForOtherDevices) {
    const NodeTopology nvidia = with_gpus(GpuVendor::nvidia, 2);
    const auto hidden = [&](const char* value, const NodeTopology* topology) {
        return findings({{"CUDA_VISIBLE_DEVICES", value}, {"ROCR_VISIBLE_DEVICES", "0,1"}},
                        topology);
    };
    const std::string empty =
        "warning CUDA_VISIBLE_DEVICES: is empty, so the program sees no GPU\n";
    EXPECT_EQ(hidden("", &nvidia), empty);
    EXPECT_EQ(hidden("", nullptr), empty);
    EXPECT_EQ(hidden("-1", &nvidia),
              "warning CUDA_VISIBLE_DEVICES: is -1, so the program sees no GPU\n");
    // HIP ignores an empty one.
    const NodeTopology amd = with_gpus(GpuVendor::amd, 2);
    EXPECT_EQ(hidden("", &amd), "failed /dev/kfd: No such file or directory\n");
    // Where there is no GPU, nothing is hidden.
    EXPECT_EQ(findings({{"CUDA_VISIBLE_DEVICES", ""}}, nullptr), "");
}

TEST_F(Gpus, NoneInTheStepIsAWarningWhereTheNodeHasSome) {
    const NodeTopology topology = with_gpus(GpuVendor::nvidia, 4);
    EXPECT_EQ(findings({}, &topology), "warning GPUs: none in this step, but 4 on this node\n");
    EXPECT_EQ(findings({}, nullptr), "");
}

TEST_F(Gpus, OfAnotherVendorAreNamedWhereTheStepHasGpus) {
    NodeTopology topology = with_gpus(GpuVendor::nvidia, 2);
    const auto found = [&](const Variables& variables) {
        Findings findings;
        add_finding(findings, check_other_gpus(MapEnvironment(variables), topology));
        return text(findings);
    };
    EXPECT_EQ(found({{"CUDA_VISIBLE_DEVICES", "0,1"}}), "");
    topology.other_gpus = {{"0000:c1:00.0", GpuVendor::amd, "Instinct MI210"}};
    EXPECT_EQ(
        found({{"CUDA_VISIBLE_DEVICES", "0,1"}}),
        "warning GPUs: the node also has 1 x AMD Instinct MI210 (0000:c1:00.0), which is left "
        "out: ranks use the NVIDIA GPUs\n");
    EXPECT_EQ(found({}), "");
}

// The GPU at 0000:07:00.0 is linked to other nodes.
class NvLink : public Gpus {
  protected:
    NvLink() {
        topology_.gpus[0].pci = "0000:06:00.0";
        topology_.gpus[1].pci = "0000:07:00.0";
        fs::create_directories(roots().dev + "/nvidia-caps-imex-channels");
    }

    std::string found(const Variables& variables = {},
                      const char* library = DISTGPU_FAKE_NVML) const {
        const auto findings = check_nvlink(MapEnvironment(variables), topology_, roots(), library);
        return without_root(text(findings));
    }

    NodeTopology topology_ = with_gpus(GpuVendor::nvidia, 2);
};

constexpr const char* no_channel =
    "warning /dev/nvidia-caps-imex-channels: has no IMEX channel, so NCCL cannot use NVLink "
    "between nodes and ends with an error\n";

TEST_F(NvLink, BetweenNodesNeedsAChannel) {
    EXPECT_EQ(found(), no_channel);
    device("nvidia-caps-imex-channels/other");
    EXPECT_EQ(found(), no_channel);
    // Slurm's channels have any number from 1 on.
    device("nvidia-caps-imex-channels/channel7");
    EXPECT_EQ(found(), "");
    fs::remove_all(roots().dev + "/nvidia-caps-imex-channels");
    EXPECT_EQ(found(), no_channel);
}

TEST_F(NvLink, NeedsAChannelThatOpens) {
    dead_device("nvidia-caps-imex-channels/channel0");
    EXPECT_EQ(found(),
              "warning /dev/nvidia-caps-imex-channels/channel0: No such device or address, so NCCL "
              "cannot use NVLink between nodes and ends with an error\n");
    device("nvidia-caps-imex-channels/channel1");
    EXPECT_EQ(found(), "");
}

// As in a DGX H100, whose driver registers the channels too, and without NVIDIA's library.
TEST_F(NvLink, WithinANodeNeedsNone) {
    topology_.gpus.pop_back();
    EXPECT_EQ(found(), "");
    topology_ = with_gpus(GpuVendor::amd, 1);
    topology_.gpus[0].pci = "0000:07:00.0";
    EXPECT_EQ(found(), "");
    topology_.gpus[0].vendor = GpuVendor::nvidia;
    EXPECT_EQ(found(), no_channel);
    EXPECT_EQ(found({}, "libdistgpu-no-such-library.so"), "");
}

TEST_F(NvLink, IsNotMissedWhereNcclShallNotUseIt) {
    EXPECT_EQ(found({{"NCCL_MNNVL_ENABLE", "0"}}), "");
    EXPECT_EQ(found({{"NCCL_MNNVL_ENABLE", "2"}}), no_channel);
}

TEST(GpuMemory, OfAGpuInUseIsAFinding) {
    NodeTopology topology = with_gpus(GpuVendor::nvidia, 3);
    for (std::size_t i = 0; i < 3; ++i) {
        topology.gpus[i].pci = "0000:0" + std::to_string(i + 6) + ":00.0";
    }
    const auto found = [&](const Variables& variables, const char* library = DISTGPU_FAKE_NVML) {
        return text(check_gpu_memory(MapEnvironment(variables), topology, library));
    };
    EXPECT_EQ(found({{"CUDA_VISIBLE_DEVICES", "0,1"}}),
              "failed GPU 0 (0000:06:00.0): 20.0 of 80.0 GiB of its memory are in use before the "
              "program starts\n");
    // What the driver takes, another job's, and what is not known without the library.
    EXPECT_EQ(found({{"CUDA_VISIBLE_DEVICES", "1"}}), "");
    EXPECT_EQ(found({}), "");
    EXPECT_EQ(found({{"CUDA_VISIBLE_DEVICES", "2,7,MIG-1"}}), "");
    EXPECT_EQ(found({{"CUDA_VISIBLE_DEVICES", "0"}, {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"}}),
              "");
    EXPECT_EQ(found({{"CUDA_VISIBLE_DEVICES", "0"}}, "libdistgpu-no-such-library.so"), "");
}

}  // namespace
}  // namespace distgpu
