#include "facts/gpu_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A healthy GPU at work.
GpuState healthy() {
    return {.throttle_reasons = 0,
            .uncorrected_errors = 0,
            .pcie_generation = 5,
            .greatest_pcie_generation = 5,
            .pcie_width = 16,
            .greatest_pcie_width = 16,
            .xids = {}};
}

template <class Change>
std::vector<std::string> unusual_after(const Change& change) {
    GpuState state = healthy();
    change(state);
    return unusual_of_gpu("GPU 3", state);
}

TEST(GpuState, OfAHealthyGpuNothingIsUnusual) {
    EXPECT_THAT(unusual_of_gpu("GPU 3", healthy()), IsEmpty());
    EXPECT_THAT(unusual_of_gpu("GPU 3", {}), IsEmpty());
}

TEST(GpuState, ANarrowOrSlowLink) {
    EXPECT_THAT(unusual_after([](GpuState& gpu) { gpu.pcie_width = 8; }),
                ElementsAre("GPU 3: PCIe x8, where x16 is possible"));
    EXPECT_THAT(unusual_after([](GpuState& gpu) { gpu.pcie_generation = 3; }),
                ElementsAre("GPU 3: PCIe generation 3, where 5 is possible"));
}

TEST(GpuState, WhatNvmlDoesNotTellIsNotUnusual) {
    EXPECT_THAT(unusual_after([](GpuState& gpu) { gpu.pcie_width = gpu.pcie_generation = 0; }),
                IsEmpty());
}

TEST(GpuState, Errors) {
    EXPECT_THAT(unusual_after([](GpuState& gpu) {
                    gpu.xids = {79, 31};
                }),
                ElementsAre("GPU 3: Xid 79, 31 during the run"));
    EXPECT_THAT(unusual_after([](GpuState& gpu) { gpu.uncorrected_errors = 2; }),
                ElementsAre("GPU 3: 2 uncorrected ECC errors since the driver was loaded"));
}

// The bits are those of nvml.h. An idle GPU (1), a group's (0x10) and a screen's clocks (0x100) are
// as they should be.
TEST(GpuState, WhyTheClocksAreLow) {
    const std::vector<std::pair<unsigned, const char*>> words{
        {0x2, "the clocks that an administrator has set"},
        {0x4, "its power limit"},
        {0x8, "its hardware's slowdown"},
        {0x20, "its temperature"},
        {0x40, "its temperature (by hardware)"},
        {0x80, "the power supply's brake"},
        {0x24, "its power limit, its temperature"}};
    for (const auto& [bits, reason] : words) {
        EXPECT_THAT(unusual_after([bits = bits](GpuState& gpu) { gpu.throttle_reasons = bits; }),
                    ElementsAre(std::string("GPU 3: clocks held down by ") + reason));
    }
    EXPECT_THAT(unusual_after([](GpuState& gpu) { gpu.throttle_reasons = 0x111; }), IsEmpty());
}

}  // namespace
}  // namespace distgpu::scaling
