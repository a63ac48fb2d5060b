// GPUs whose memory is in use, as a stand-in for NVIDIA's library tells it: 80 GiB, and free at the
// PCI address 0000:06:00.0 are 60, at 0000:07:00.0 are 79.
#include "check/gpu_memory.h"

#include "map_environment.h"
#include "tools/findings_text.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;

std::string found(const Variables& variables, const std::string& library = DISTGPU_FAKE_NVML) {
    NodeTopology topology;
    for (const char* pci : {"0000:06:00.0", "0000:07:00.0", "0000:08:00.0"}) {
        Gpu gpu;
        gpu.pci = pci;
        topology.gpus.push_back(gpu);
    }
    return text(check_gpu_memory(MapEnvironment(variables), topology, library));
}

TEST(GpuMemory, OfAGpuInUseIsAFinding) {
    EXPECT_EQ(found({{"CUDA_VISIBLE_DEVICES", "0,1"}}),
              "failed GPU 0 (0000:06:00.0): 20.0 of 80.0 GiB of its memory are in use before the "
              "program starts\n");
}

TEST(GpuMemory, WhatTheDriverTakesIsNot) {
    EXPECT_EQ(found({{"CUDA_VISIBLE_DEVICES", "1"}}), "");
}

TEST(GpuMemory, OfAnotherJobsGpuNothingIsSaid) {
    EXPECT_EQ(found({}), "");
    EXPECT_EQ(found({{"CUDA_VISIBLE_DEVICES", "2,7,MIG-1"}}), "");
    EXPECT_EQ(found({{"CUDA_VISIBLE_DEVICES", "0"}, {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"}}),
              "");
}

TEST(GpuMemory, WithoutTheLibraryNothingIsKnown) {
    EXPECT_EQ(found({{"CUDA_VISIBLE_DEVICES", "0"}}, "libdistgpu-no-such-library.so"), "");
}

}  // namespace
}  // namespace distgpu
