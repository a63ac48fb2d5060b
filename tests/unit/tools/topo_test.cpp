// A topology as people read it.
#include "topo/topo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Gpu gpu(const std::string& pci) {
    Gpu gpu;
    gpu.pci = pci;
    return gpu;
}

Hca hca(const std::string& name, std::vector<HcaPort> ports) {
    Hca hca;
    hca.name = name;
    hca.ports = std::move(ports);
    return hca;
}

TEST(TopoTable, WhatIsNotKnownIsNotGuessed) {
    EXPECT_EQ(topo_table({}, false),
              "no GPU and no HCA here; for a compute node: srun -N1 --gres=gpu:1 distgpu topo\n");
    NodeTopology node;
    node.gpus = {gpu("0000:06:00.0")};
    node.distances = {{}};
    for (const std::string bold : {"", "\x1b[1m"}) {
        const std::string plain = bold.empty() ? "" : "\x1b[0m";
        EXPECT_EQ(topo_table(node, !bold.empty()), bold + "      CPU Affinity  NUMA Affinity" +
                                                       plain + "\nGPU0  N/A           N/A\n\n" +
                                                       bold + "GPU Legend:" + plain +
                                                       "\n\n  GPU0:  0000:06:00.0  N/A  N/A\n");
    }
}

TEST(TopoTable, DistancesCpusAndNumaOfEachGpu) {
    NodeTopology node;
    node.gpus = {gpu("0000:06:00.0"), gpu("0000:16:00.0")};
    node.gpus[0].cpus = {0, 1, 2, 3, 8};
    node.gpus[0].numa = 0;
    node.gpus[1].numa = 8;
    node.hcas = {hca("mlx5_0", {}), hca("mlx5_1", {})};
    node.distances = {{Distance::pix, Distance::sys}, {Distance::pxb, Distance::phb}};
    const std::string text = topo_table(node, false);
    EXPECT_THAT(text, StartsWith("      NIC0  NIC1  CPU Affinity  NUMA Affinity\n"
                                 "GPU0  PIX   SYS   0-3,8         0\n"
                                 "GPU1  PXB   PHB   N/A           8\n"
                                 "\nLegend:\n"));
}

TEST(TopoTable, InstancesStandBelowTheirGpu) {
    NodeTopology node;
    node.gpus = {gpu("0000:06:00.0")};
    node.gpus[0].model = "NVIDIA H200";
    node.gpus[0].uuid = "GPU-6";
    node.gpus[0].mig = {{"MIG-1", "1g.18gb"}, {"MIG-2", ""}};
    node.distances = {{}};
    EXPECT_THAT(topo_table(node, false),
                HasSubstr("  GPU0:  0000:06:00.0  NVIDIA H200    GPU-6\n"
                          "                         MIG 1g.18gb  MIG-1\n"
                          "                         MIG N/A      MIG-2\n"));
}

TEST(TopoTable, NamesGpusThatRanksDoNotUse) {
    NodeTopology node;
    node.gpus = {gpu("0000:06:00.0")};
    node.distances = {{}};
    EXPECT_THAT(topo_table(node, false), Not(HasSubstr("Other GPUs")));
    node.other_gpus = {{"0000:c1:00.0", GpuVendor::amd, "Instinct MI210"}};
    EXPECT_THAT(topo_table(node, false),
                HasSubstr("  GPU0:  0000:06:00.0  N/A  N/A\n\n"
                          "Other GPUs: 1 x AMD Instinct MI210 (0000:c1:00.0), which is left out: "
                          "ranks use the NVIDIA GPUs\n"));
}

TEST(TopoTable, PortsSayWhyNcclMayNotTakeThem) {
    using State = HcaPort::State;
    using Link = HcaPort::Link;
    NodeTopology node;
    node.hcas = {hca("mlx5_0", {{1, State::active, Link::infiniband, 400},
                                {2, State::down, Link::unknown, 0}}),
                 hca("mlx5_10", {})};
    const std::string text = topo_table(node, false);
    EXPECT_THAT(
        text,
        HasSubstr(
            "\nNIC Legend:\n\n"
            "  NIC0:  mlx5_0   N/A  port 1  ACTIVE  InfiniBand  400 Gb/s  eligible\n"
            "  NIC0:  mlx5_0   N/A  port 2  DOWN    N/A         N/A       not eligible: down\n"
            "  NIC1:  mlx5_10  N/A\n"));
    // Nothing is near to anything.
    EXPECT_THAT(text, Not(HasSubstr("\nLegend:")));
}

}  // namespace
}  // namespace distgpu
