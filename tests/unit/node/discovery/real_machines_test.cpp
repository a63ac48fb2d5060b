// The mapper's facts of real machines, whose XML is not ours to ship: the folder that
// DISTGPU_TOPOLOGIES names. Expected values are read from the XML by nvidia-smi's definitions.
#include "node/discovery/discover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using testing::Each;
using testing::ElementsAre;
using enum Distance;

class RealMachine : public testing::Test {
  protected:
    void SetUp() override {
        if (std::getenv("DISTGPU_TOPOLOGIES") == nullptr) {
            GTEST_SKIP() << "DISTGPU_TOPOLOGIES names no folder of real machines' XML";
        }
    }

    static std::string path(const std::string& name) {
        return std::string(std::getenv("DISTGPU_TOPOLOGIES")) + "/" + name;
    }

    static NodeTopology load(const std::string& name) {
        const auto topology = load_xml(path(name));
        EXPECT_TRUE(topology) << topology.error().message();
        return topology ? *topology : NodeTopology{};
    }
};

std::vector<std::string> near_cpus(const NodeTopology& node) {
    std::vector<std::string> cpus;
    for (const Gpu& gpu : node.gpus) cpus.push_back(gpu.cpus.to_string());
    return cpus;
}

std::vector<std::string> hca_names(const NodeTopology& node) {
    std::vector<std::string> names;
    for (const Hca& hca : node.hcas) names.push_back(hca.name);
    return names;
}

// GPU order is not CPU order. Of each pair one GPU shares a host bridge with the NIC.
TEST_F(RealMachine, Mi250xNode) {
    const NodeTopology node = load("eas-tioga.xml");
    EXPECT_THAT(near_cpus(node),
                ElementsAre("48-55,112-119", "56-63,120-127", "16-23,80-87", "24-31,88-95",
                            "0-7,64-71", "8-15,72-79", "32-39,96-103", "40-47,104-111"));
    EXPECT_THAT(hca_names(node), ElementsAre("hsi0", "hsi1", "hsi2", "hsi3"));
    EXPECT_THAT(
        node.distances,
        ElementsAre(ElementsAre(Distance::node, sys, sys, sys), ElementsAre(phb, sys, sys, sys),
                    ElementsAre(sys, Distance::node, sys, sys), ElementsAre(sys, phb, sys, sys),
                    ElementsAre(sys, sys, Distance::node, sys), ElementsAre(sys, sys, phb, sys),
                    ElementsAre(sys, sys, sys, Distance::node), ElementsAre(sys, sys, sys, phb)));
    for (const Hca& hca : node.hcas) EXPECT_EQ(hca.kind, HcaKind::slingshot);
    EXPECT_EQ(node.gpus[0].uuid, "GPU-4a7c19da329a2b8c");
    EXPECT_EQ(node.cores.size(), 64);
}

// NUMA nodes 0 and 8; GPUs and HCAs of a socket have host bridges of their own.
TEST_F(RealMachine, Power9Node) {
    const NodeTopology topology = load("coral-lassen.xml");
    EXPECT_THAT(near_cpus(topology), ElementsAre("8-87", "8-87", "96-175", "96-175"));
    EXPECT_THAT(hca_names(topology), ElementsAre("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"));
    const auto socket_0 = ElementsAre(Distance::node, Distance::node, sys, sys);
    const auto socket_1 = ElementsAre(sys, sys, Distance::node, Distance::node);
    EXPECT_THAT(topology.distances, ElementsAre(socket_0, socket_0, socket_1, socket_1));
    EXPECT_EQ(topology.gpus[2].pci, "0035:03:00.0");
    EXPECT_EQ(topology.gpus[2].numa, 8);
    EXPECT_EQ(topology.gpus[2].model, "Tesla V100-SXM2-16GB");
    EXPECT_EQ(topology.gpus[2].uuid, "GPU-3e0871a1-dd1a-b447-40f2-86e6745c3206");
    EXPECT_THAT(topology.hcas[0].ports, ElementsAre(HcaPort{1, HcaPort::State::active}));
}

// Both GPUs and the HCA are behind one switch of socket 0.
TEST_F(RealMachine, OneSocketGpus) {
    const NodeTopology node = load("cts1-pascal.xml");
    EXPECT_THAT(near_cpus(node), ElementsAre("0-17,36-53", "0-17,36-53"));
    EXPECT_THAT(hca_names(node), ElementsAre("mlx5_0"));
    EXPECT_THAT(node.distances, ElementsAre(ElementsAre(pix), ElementsAre(pix)));
}

TEST_F(RealMachine, EfaAtSocket1) {
    const NodeTopology topology = load("g4dnmetal.xml");
    ASSERT_EQ(topology.gpus.size(), 8);
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(topology.gpus[i].cpus.to_string(), i < 4 ? "0-23,48-71" : "24-47,72-95");
        EXPECT_THAT(topology.distances[i], ElementsAre(i < 4 ? sys : Distance::node));
    }
    ASSERT_THAT(hca_names(topology), ElementsAre("rdmap197s0"));
    EXPECT_EQ(topology.hcas[0].kind, HcaKind::efa);
}

// The GPUs are of class VGA, as is the management controller's screen at 05:00.0.
TEST_F(RealMachine, VgaClassGpus) {
    const NodeTopology node = load("epyc-corona.xml");
    EXPECT_THAT(near_cpus(node),
                ElementsAre("6-11,54-59", "12-17,60-65", "30-35,78-83", "42-47,90-95"));
    EXPECT_THAT(node.distances, Each(ElementsAre(sys)));
}

// hwloc reads it from 2.10 on; before, it is refused with a remedy.
TEST_F(RealMachine, Hwloc3Xml) {
    const auto topology = load_xml(path("nvidia-dgx-gb10.xml"));
    if (topology) {
        EXPECT_EQ(topology->cores.size(), 20);
    } else {
        EXPECT_EQ(topology.error().message(),
                  "distgpu: " + path("nvidia-dgx-gb10.xml") +
                      ": written by hwloc 3, but this program uses hwloc 2; "
                      "write it with lstopo --export-xml-flags v2");
    }
}

}  // namespace
}  // namespace distgpu
