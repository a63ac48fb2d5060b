// Which GPUs a process can open: files of a folder stand for /dev. What the cgroup denies is tested
// on a cluster (gpu_identity.bats).
#include "node/gpu_devices.h"

#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <vector>

namespace distgpu {
namespace {

using Indices = std::vector<std::uint32_t>;

Gpu gpu(GpuVendor vendor, const char* pci, std::optional<std::uint32_t> minor) {
    Gpu result;
    result.vendor = vendor;
    result.pci = pci;
    result.minor = minor;
    return result;
}

TEST(UsableGpus, AreThoseWhoseFilesThisProcessMayOpen) {
    const MadeUpFolder dev;
    NodeTopology topology;
    for (const std::uint32_t minor : {3U, 2U, 1U, 0U}) {
        topology.gpus.push_back(gpu(GpuVendor::nvidia, "", minor));
    }
    EXPECT_EQ(usable_gpus(topology, dev.path()), Indices());
    dev.write("nvidia0", "");
    dev.write("nvidia2", "");
    dev.write("dri/renderD1", "");
    EXPECT_EQ(usable_gpus(topology, dev.path()), (Indices{1, 3}));
    topology.gpus[0].minor.reset();
    EXPECT_EQ(usable_gpus(topology, dev.path()), std::nullopt);
}

TEST(UsableGpus, OfOtherMakersAreRenderNodes) {
    const MadeUpFolder dev;
    dev.write("dri/renderD129", "");
    dev.write("nvidia128", "");
    for (const GpuVendor vendor : {GpuVendor::amd, GpuVendor::intel}) {
        NodeTopology topology;
        topology.gpus = {gpu(vendor, "", 128), gpu(vendor, "", 129)};
        EXPECT_EQ(usable_gpus(topology, dev.path()), Indices{1});
    }
}

TEST(AskDrivers, FillsInWhatAnXmlDoesNotHold) {
    const MadeUpFolder folder;
    const MachineRoots roots{folder.path("proc"), folder.path("sys")};
    folder.write("proc/driver/nvidia/gpus/0000:06:00.0/information",
                 "GPU UUID: GPU-6\nDevice Minor: 3\n");
    folder.write("sys/bus/pci/devices/0000:16:00.0/drm/card1/dev", "");
    folder.write("sys/bus/pci/devices/0000:16:00.0/drm/renderD130/dev", "");
    NodeTopology topology;
    topology.gpus = {gpu(GpuVendor::nvidia, "0000:06:00.0", std::nullopt),
                     gpu(GpuVendor::nvidia, "0000:07:00.0", std::nullopt),
                     gpu(GpuVendor::nvidia, "0000:06:00.0", 9),
                     gpu(GpuVendor::amd, "0000:16:00.0", std::nullopt),
                     gpu(GpuVendor::amd, "0000:16:00.0", std::nullopt),
                     gpu(GpuVendor::intel, "0000:17:00.0", std::nullopt)};
    topology.gpus[0].uuid = "GPU-of-another-node";
    topology.gpus[2].uuid = "GPU-9";
    topology.gpus[4].partition = 1;  // the device's file is the first one's
    ask_drivers(topology, roots);
    EXPECT_EQ(topology.gpus[0].minor, 3);
    EXPECT_EQ(topology.gpus[0].uuid, "GPU-6");
    EXPECT_EQ(topology.gpus[1].minor, std::nullopt);
    EXPECT_EQ(topology.gpus[2].minor, 9);
    EXPECT_EQ(topology.gpus[2].uuid, "GPU-9");
    EXPECT_EQ(topology.gpus[3].minor, 130);
    EXPECT_EQ(topology.gpus[4].minor, std::nullopt);
    EXPECT_EQ(topology.gpus[5].minor, std::nullopt);
}

}  // namespace
}  // namespace distgpu
