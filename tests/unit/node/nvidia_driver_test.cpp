// What is read from folders that look like those of NVIDIA's driver (580) in /proc.
#include "node/nvidia_driver.h"

#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace distgpu {
namespace {

NvidiaInformation information(const std::string& text) {
    const MadeUpFolder proc;
    proc.write("driver/nvidia/gpus/0000:06:00.0/information", text);
    return nvidia_information(proc.path(), "0000:06:00.0");
}

TEST(NvidiaInformation, ReadsModelUuidAndMinor) {
    const NvidiaInformation gpu = information(
        "Model: \t\t NVIDIA H200\n"
        "IRQ:   \t\t 387\n"
        "GPU UUID: \t GPU-6a1d3f52-02fe-7a3b-d6d1-2c1f8c0b8a11\n"
        "Video BIOS: \t 96.00.99.00.01\n"
        "Bus Type: \t PCIe\n"
        "Bus Location: \t 0000:06:00.0\n"
        "Device Minor: \t 13\n"
        "GPU Firmware: \t 580.65.06\n"
        "GPU Excluded:\t No\n");
    EXPECT_EQ(gpu.model, "NVIDIA H200");
    EXPECT_EQ(gpu.uuid, "GPU-6a1d3f52-02fe-7a3b-d6d1-2c1f8c0b8a11");
    EXPECT_EQ(gpu.minor, 13);
}

TEST(NvidiaInformation, KnowsNoUuidBeforeTheGpuWasOpened) {
    const NvidiaInformation gpu = information(
        "Model: \t\t Tesla T4\n"
        "GPU UUID: \t GPU-\?\?\?\?\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?-\?\?\?\?\?\?\?\?\?\?\?\?\n"
        "Device Minor: \t 0\n");
    EXPECT_EQ(gpu.uuid, "");
    EXPECT_EQ(gpu.minor, 0);
}

TEST(NvidiaInformation, IsEmptyWhereNothingIsSaid) {
    for (const char* minor : {"", "-1", "x", "3 ?"}) {
        EXPECT_EQ(information(std::string("Device Minor: \t ") + minor).minor, std::nullopt)
            << minor;
    }
    const NvidiaInformation gpu = nvidia_information(MadeUpFolder().path(), "0000:06:00.0");
    EXPECT_EQ(gpu.model, "");
    EXPECT_EQ(gpu.uuid, "");
    EXPECT_EQ(gpu.minor, std::nullopt);
}

TEST(NvidiaDriver, HasGpusWhereItListsOne) {
    const MadeUpFolder proc;
    EXPECT_FALSE(drives_gpus(proc.path()));
    proc.write("driver/nvidia/version", "580");
    std::filesystem::create_directories(proc.path("driver/nvidia/gpus"));
    EXPECT_FALSE(drives_gpus(proc.path()));
    proc.write("driver/nvidia/gpus/0000:06:00.0/information", "");
    EXPECT_TRUE(drives_gpus(proc.path()));
}

TEST(NvidiaMig, IsInUseWhereThereIsAGpuInstance) {
    const MadeUpFolder proc;
    EXPECT_FALSE(has_mig_instances(proc.path(), 1));
    proc.write("driver/nvidia/capabilities/mig/config", "");
    proc.write("driver/nvidia/capabilities/gpu1/mig/access", "");
    EXPECT_FALSE(has_mig_instances(proc.path(), 1));
    proc.write("driver/nvidia/capabilities/gpu1/mig/gi9/access", "");
    EXPECT_TRUE(has_mig_instances(proc.path(), 1));
    EXPECT_FALSE(has_mig_instances(proc.path(), 0));
}

}  // namespace
}  // namespace distgpu
