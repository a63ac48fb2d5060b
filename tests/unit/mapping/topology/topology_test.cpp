// The line about GPUs that ranks do not use.
#include "mapping/topology/topology.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(LeftOutGpus, AreCountedByModel) {
    NodeTopology node;
    node.gpus.resize(2);
    EXPECT_EQ(left_out_gpus(node), "");
    node.other_gpus = {{"0000:c1:00.0", GpuVendor::amd, "Instinct MI210"}};
    EXPECT_EQ(
        left_out_gpus(node),
        "1 x AMD Instinct MI210 (0000:c1:00.0), which is left out: ranks use the NVIDIA GPUs");
    node.gpus[0].vendor = GpuVendor::amd;
    node.other_gpus = {{"0000:18:00.0", GpuVendor::intel, "Max 1550"},
                       {"0000:42:00.0", GpuVendor::intel, "Max 1550"},
                       {"0000:6c:00.0", GpuVendor::intel, ""}};
    EXPECT_EQ(
        left_out_gpus(node),
        "2 x Intel Max 1550 (0000:18:00.0, 0000:42:00.0), 1 x Intel GPU (0000:6c:00.0), which "
        "are left out: ranks use the AMD GPUs");
}

// AMD's driver names the vendor too.
TEST(LeftOutGpus, NameTheirVendorOnce) {
    NodeTopology node;
    node.gpus.resize(1);
    node.other_gpus = {{"0000:c1:00.0", GpuVendor::amd, "AMD Instinct MI210"}};
    EXPECT_EQ(
        left_out_gpus(node),
        "1 x AMD Instinct MI210 (0000:c1:00.0), which is left out: ranks use the NVIDIA GPUs");
}

// A file that distgpu did not write may name others alone.
TEST(LeftOutGpus, AreNoneWhereRanksUseNone) {
    NodeTopology node;
    node.other_gpus = {{"0000:c1:00.0", GpuVendor::amd, ""}};
    EXPECT_EQ(left_out_gpus(node), "");
}

}  // namespace
}  // namespace distgpu
