// How near devices are to CPUs and to each other, in made-up machines of one rule each.
#include "made_up_folder.h"
#include "made_up_xml.h"
#include "node/discovery/discover.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using namespace made_up;

NodeTopology load(const std::string& xml) {
    const MadeUpFolder folder;
    folder.write("machine.xml", xml);
    const auto topology = load_xml(folder.path("machine.xml"));
    EXPECT_TRUE(topology) << topology.error().message() << "\n" << xml;
    return topology ? *topology : NodeTopology{};
}

// Of the only GPU to the only HCA.
Distance distance(const std::string& of_package_0, const std::string& of_package_1 = "",
                  const std::string& of_machine = "") {
    const NodeTopology node =
        load(machine(package(0, of_package_0) + package(1, of_package_1) + of_machine));
    EXPECT_EQ(node.gpus.size(), 1);
    EXPECT_EQ(node.hcas.size(), 1);
    return node.distances.at(0).at(0);
}

const std::string gpu = nvidia("0000:06:00.0");
const std::string hca = verbs("0000:07:00.0", "mlx5_0");

TEST(PciDistance, IsPixBelowOneSwitch) {
    EXPECT_EQ(distance(host_bridge(bridge(
                  "00:01.0", bridge("01:00.0", bridge("02:00.0", gpu) + bridge("02:01.0", hca))))),
              Distance::pix);
    EXPECT_EQ(distance(host_bridge(bridge("00:01.0", gpu + hca))), Distance::pix);
    EXPECT_EQ(distance(host_bridge(bridge("00:01.0", bridge("01:00.0", gpu) + hca))),
              Distance::pix);
}

TEST(PciDistance, IsPixOnOneCard) {
    EXPECT_EQ(distance(host_bridge(nvidia("0000:06:00.0", os_device("mlx5_0", openfabrics_type)))),
              Distance::pix);
}

TEST(PciDistance, IsPxbAcrossTwoSwitchesOnEitherSide) {
    const auto below = [](const std::string& left, const std::string& right) {
        return host_bridge(
            bridge("00:01.0", bridge("01:00.0", bridge("02:00.0", bridge("03:00.0", left)) +
                                                    bridge("02:01.0", right))));
    };
    EXPECT_EQ(distance(below(gpu, hca)), Distance::pxb);
    EXPECT_EQ(distance(below(hca, gpu)), Distance::pxb);
}

TEST(PciDistance, IsPhbThroughTheHostBridge) {
    EXPECT_EQ(distance(host_bridge(bridge("00:01.0", gpu) + bridge("00:02.0", hca))),
              Distance::phb);
    EXPECT_EQ(distance(host_bridge(gpu + hca)), Distance::phb);
}

TEST(PciDistance, IsNodeThroughAnotherHostBridge) {
    EXPECT_EQ(distance(host_bridge(gpu) + host_bridge(hca)), Distance::node);
    EXPECT_EQ(distance("", "", host_bridge(gpu) + host_bridge(hca)), Distance::node);
}

TEST(PciDistance, IsSysBetweenNumaNodes) {
    EXPECT_EQ(distance(host_bridge(gpu), host_bridge(hca)), Distance::sys);
    EXPECT_EQ(distance(host_bridge(gpu), "", host_bridge(hca)), Distance::sys);
}

// A device may be near part of a NUMA node: the cores below one cache.
TEST(PciDistance, IsNodeBetweenPartsOfANumaNode) {
    const auto group = [](unsigned first, const std::string& io) {
        return formatted(R"(<object type="L3Cache" {} cache_size="1024" depth="3" )"
                         R"(cache_linesize="64" cache_associativity="16" cache_type="0">)"
                         "{}{}</object>",
                         sets(3U << first, 1), core(first, 1), io);
    };
    const std::string package_0 =
        formatted(R"(<object type="Package" os_index="0" {}>{}{}{}</object>)", sets(0xf, 1),
                  numa_node(0, 0xf), group(0, host_bridge(gpu)), group(2, host_bridge(hca)));
    const NodeTopology node = load(machine(package_0 + package(1)));
    ASSERT_EQ(node.distances.size(), 1);
    EXPECT_EQ(node.distances[0][0], Distance::node);
    EXPECT_EQ(node.gpus[0].cpus, CpuSet({0, 1}));
    EXPECT_EQ(node.gpus[0].numa, 0);
}

TEST(NearestCpus, AreThoseOfTheGpusPackage) {
    const NodeTopology node = load(machine(package(0) + package(1, host_bridge(gpu))));
    EXPECT_EQ(node.gpus[0].numa, 1);
    EXPECT_EQ(node.gpus[0].cpus, CpuSet::range(4, 7));
}

TEST(NearestCpus, AreAllWhereThePlaceIsNotKnown) {
    const NodeTopology node = load(machine(package(0) + package(1) + host_bridge(gpu)));
    EXPECT_EQ(node.gpus[0].numa, std::nullopt);
    EXPECT_EQ(node.gpus[0].cpus, CpuSet::range(0, 7));
}

// The package has memory of its GPU too, as a node without CPUs.
TEST(NearestCpus, AreNotMisledByMemoryOfAGpu) {
    const NodeTopology node = load(
        machine(package(0) + package(1, host_bridge(gpu), numa_node(4, 0xf0), 1U << 4), 0b10011));
    EXPECT_EQ(node.gpus[0].numa, 1);
    EXPECT_EQ(node.gpus[0].cpus, CpuSet::range(4, 7));
}

// A group of the GPU and its memory alone, as NUMA node 4 without CPUs.
std::string gpu_and_its_memory() {
    return formatted(R"(<object type="Group" kind="0" subkind="0" {}>{}{}</object>)",
                     sets(0, 1U << 4), numa_node(4, 0), host_bridge(gpu));
}

// Between the nodes 0, 1 and 4; "A B": from node 4 to the others.
std::string latencies(const std::string& from_node_4) {
    const std::string values = "10 20 80 20 10 40 " + from_node_4 + " 10 ";
    return formatted(R"(<distances2 type="NUMANode" nbobjs="3" kind="5" indexing="os">)"
                     R"(<indexes length="6">0 1 4 </indexes>)"
                     R"(<u64values length="{}">{}</u64values></distances2>)",
                     values.size(), values);
}

TEST(NearestCpus, AreByLatencyWhereTheNodeHasNone) {
    const std::string machine_0 = package(0) + package(1) + gpu_and_its_memory();
    const NodeTopology near_1 = load(machine(machine_0, 0b10011, latencies("80 40")));
    ASSERT_EQ(near_1.gpus.size(), 1);
    EXPECT_EQ(near_1.gpus[0].numa, 4);
    EXPECT_EQ(near_1.gpus[0].cpus, CpuSet::range(4, 7));
    const NodeTopology near_0 = load(machine(machine_0, 0b10011, latencies("40 80")));
    EXPECT_EQ(near_0.gpus[0].cpus, CpuSet::range(0, 3));
}

TEST(NearestCpus, AreTheAncestorsWhereNoLatencyIsKnown) {
    const NodeTopology node =
        load(machine(package(0) + package(1) + gpu_and_its_memory(), 0b10011));
    ASSERT_EQ(node.gpus.size(), 1);
    EXPECT_EQ(node.gpus[0].numa, 4);
    EXPECT_EQ(node.gpus[0].cpus, CpuSet::range(0, 7));
}

}  // namespace
}  // namespace distgpu
