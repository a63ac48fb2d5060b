#include "node/nvml_library.h"

#include <gtest/gtest.h>

namespace distgpu::nvml {
namespace {

// Who asks what GPUs are does without what tells how well they are, and the other way round.
TEST(NvmlLibrary, NeedsOnlyTheFunctionsOfItsUse) {
    const auto devices = load<Devices>(DISTGPU_FAKE_NVML);
    ASSERT_TRUE(devices);
    EXPECT_EQ(devices->init(), success);
    Device device = nullptr;
    EXPECT_EQ(devices->by_pci("0000:07:00.0", &device), success);
    Utilization percent{};
    EXPECT_EQ(devices->utilization(device, &percent), success);
    EXPECT_EQ(percent.gpu, 97U);
    EXPECT_EQ(devices->shutdown(), success);
    EXPECT_FALSE(load<Health>(DISTGPU_FAKE_NVML));
}

TEST(NvmlLibrary, IsNothingWhereItIsNotThere) {
    for (const char* const file : {"libdistgpu-no-such-library.so", "libc.so.6"}) {
        EXPECT_FALSE(load<Devices>(file));
        EXPECT_FALSE(load<Health>(file));
    }
}

}  // namespace
}  // namespace distgpu::nvml
