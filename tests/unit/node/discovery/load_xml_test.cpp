// Made-up machines as XML: what is a GPU or an HCA, and how near devices are to CPUs and to each
// other.
#include "made_up_folder.h"
#include "made_up_xml.h"
#include "node/discovery/discover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

using namespace made_up;
using testing::ElementsAre;
using testing::IsEmpty;

NodeTopology load(const std::string& xml) {
    const MadeUpFolder folder;
    folder.write("machine.xml", xml);
    const auto topology = load_topology(folder.path("machine.xml"));
    EXPECT_TRUE(topology) << topology.error().message() << "\n" << xml;
    if (!topology) return {};
    EXPECT_EQ(topology->source, folder.path("machine.xml"));
    return *topology;
}

NodeTopology load_with_io(const std::string& of_package_0, const std::string& of_package_1 = "") {
    return load(machine(package(0, of_package_0) + package(1, of_package_1)));
}

std::vector<std::string> addresses(const NodeTopology& node) {
    std::vector<std::string> addresses;
    for (const Gpu& gpu : node.gpus) addresses.push_back(gpu.pci);
    return addresses;
}

std::vector<std::string> hca_names(const NodeTopology& node) {
    std::vector<std::string> names;
    for (const Hca& hca : node.hcas) names.push_back(hca.name);
    return names;
}

TEST(LoadXml, TakesCpusForCoresWhereThereAreNone) {
    std::string cpus;
    for (unsigned cpu = 0; cpu < 8; ++cpu) {
        cpus += formatted(R"(<object type="PU" os_index="{}" {}/>)", cpu, sets(1U << cpu, 1));
    }
    const NodeTopology node = load(machine(numa_node(0, 0xff) + cpus, 1));
    ASSERT_EQ(node.cores.size(), 8);
    EXPECT_EQ(node.cores[7], (Core{{7}, 0, 0}));
}

TEST(LoadXml, ReadsCpusThatTheProcessMayNotUse) {
    std::string xml = machine(package(0) + package(1));
    const std::string all = R"(allowed_cpuset="0xff")";
    xml.replace(xml.find(all), all.size(), R"(allowed_cpuset="0x1")");
    EXPECT_EQ(load(xml).cores.size(), 4);
}

TEST(LoadXml, KnowsTheHost) {
    EXPECT_EQ(load(machine(info("HostName", "node07") + package(0) + package(1))).host, "node07");
    EXPECT_EQ(load_with_io("").host, "");
}

// hwloc gives memory that has no CPUs the CPUs near it; Linux gives each CPU to one node.
TEST(LoadXml, GivesEachCpuToOneNumaNode) {
    const NodeTopology node =
        load(machine(package(0, "", numa_node(4, 0xf), 1U << 4) + package(1), 0b10011));
    EXPECT_THAT(node.numas, ElementsAre(NumaNode{0, CpuSet::range(0, 3)},
                                        NumaNode{1, CpuSet::range(4, 7)}, NumaNode{4, {}}));
}

TEST(LoadXmlGpus, AreDisplayDevicesOfGpuMakers) {
    for (const std::string pci_class : {"0300", "0302", "0380"}) {
        for (const std::string vendor : {"10de", "1002", "8086"}) {
            const NodeTopology node = load_with_io(pci("0000:06:00.0", pci_class, vendor + ":1"));
            EXPECT_THAT(addresses(node), ElementsAre("0000:06:00.0")) << pci_class << vendor;
        }
    }
    EXPECT_THAT(addresses(load_with_io(pci("0000:06:00.0", "1200", "1002:74a0"))),
                ElementsAre("0000:06:00.0"));
    // Management controllers' screens, a NIC, and accelerators of others than AMD, as an FPGA.
    for (const auto& [pci_class, ids] :
         {std::pair{"0300", "1a03:2000"}, std::pair{"0300", "102b:2000"},
          std::pair{"0200", "10de:2335"}, std::pair{"1200", "8086:7d1d"},
          std::pair{"1200", "10de:2335"}, std::pair{"1200", "10ee:500c"}}) {
        EXPECT_THAT(addresses(load_with_io(pci("0000:06:00.0", pci_class, ids))), IsEmpty()) << ids;
    }
}

TEST(LoadXmlGpus, AreNotTheMainboardsScreen) {
    const auto found = [](const std::string& address, const char* pci_class, const char* ids) {
        return addresses(load_with_io(pci(address, pci_class, ids)));
    };
    for (const char* ati : {"1002:4752", "1002:5159", "1002:515e", "1002:5969"}) {
        EXPECT_THAT(found("0000:01:03.0", "0300", ati), IsEmpty()) << ati;
    }
    EXPECT_THAT(found("0000:00:02.0", "0300", "8086:3e96"), IsEmpty());
    // In a virtual machine a data center GPU may have this place, and elsewhere a VGA device is a
    // card of its own.
    EXPECT_THAT(found("0000:00:02.0", "0380", "8086:56c0"), ElementsAre("0000:00:02.0"));
    for (const char* address : {"0001:00:02.0", "0000:03:02.0", "0000:00:03.0"}) {
        EXPECT_THAT(found(address, "0300", "8086:56a0"), ElementsAre(address));
    }
    // Nor where it would come before another vendor's GPUs.
    EXPECT_THAT(addresses(load_with_io(pci("0000:01:03.0", "0300", "1002:515e") +
                                       pci("0000:18:00.0", "0380", "8086:0bd5"))),
                ElementsAre("0000:18:00.0"));
}

TEST(LoadXmlGpus, OfOtherVendorsAreNamed) {
    const std::string amd = pci("0000:c1:00.0", "0380", "1002:740f", info("PCIDevice", "MI210"));
    const NodeTopology node = load_with_io(
        pci("0000:c2:00.0", "1200", "1002:74a0",
            os_device("rsmi0", gpu_type, "", "RSMI") + os_device("rsmi1", gpu_type, "", "RSMI")) +
            amd + pci("0000:18:00.0", "0380", "8086:0bd5"),
        nvidia("0000:81:00.0"));
    EXPECT_THAT(addresses(node), ElementsAre("0000:81:00.0"));
    // A divided GPU is one.
    EXPECT_THAT(node.other_gpus, ElementsAre(OtherGpu{"0000:c1:00.0", GpuVendor::amd, "MI210"},
                                             OtherGpu{"0000:c2:00.0", GpuVendor::amd, ""},
                                             OtherGpu{"0000:18:00.0", GpuVendor::intel, ""}));
    EXPECT_THAT(load_with_io(amd).other_gpus, IsEmpty());
    // It drives a screen.
    EXPECT_THAT(
        load_with_io(nvidia("0000:81:00.0") + pci("0000:c1:00.0", "0300", "1002:164e")).other_gpus,
        IsEmpty());
}

TEST(LoadXmlGpus, AreOfOneMaker) {
    const std::string intel = pci("0000:01:00.0", "0300", "8086:1");
    const std::string amd = pci("0000:02:00.0", "0300", "1002:1");
    for (const auto& [devices, vendor] :
         {std::pair{intel + amd + nvidia("0000:03:00.0"), GpuVendor::nvidia},
          {intel + amd, GpuVendor::amd},
          {intel, GpuVendor::intel}}) {
        const NodeTopology node = load_with_io(devices);
        ASSERT_EQ(node.gpus.size(), 1U);
        EXPECT_EQ(node.gpus[0].vendor, vendor);
    }
}

TEST(LoadXmlGpus, AreSortedByAddressWhereverTheyAreListed) {
    const NodeTopology node =
        load_with_io(nvidia("0001:01:00.0") + nvidia("0000:c1:00.1") + nvidia("0000:c1:00.0"),
                     nvidia("0000:06:1f.0") + nvidia("0000:06:02.0"));
    EXPECT_THAT(addresses(node), ElementsAre("0000:06:02.0", "0000:06:1f.0", "0000:c1:00.0",
                                             "0000:c1:00.1", "0001:01:00.0"));
}

TEST(LoadXmlGpus, AreDescribedByTheirOsDevices) {
    const NodeTopology node =
        load_with_io(nvidia("0000:06:00.0", info("PCIDevice", "GH100") + os_device("opencl0d0", 5) +
                                                os_device("nvml0", gpu_type,
                                                          info("GPUModel", "NVIDIA H200") +
                                                              info("NVIDIAUUID", "GPU-7"))));
    EXPECT_EQ(node.gpus[0].model, "NVIDIA H200");
    EXPECT_EQ(node.gpus[0].uuid, "GPU-7");
    EXPECT_EQ(node.gpus[0].minor, std::nullopt);
    EXPECT_THAT(node.gpus[0].mig, IsEmpty());
    // Without OS devices they are called as PCI calls them.
    const NodeTopology bare = load_with_io(nvidia("0000:06:00.0", info("PCIDevice", "GH100")));
    EXPECT_EQ(bare.gpus[0].model, "GH100");
    EXPECT_EQ(bare.gpus[0].uuid, "");
}

std::string rsmi(int number, const std::string& uuid) {
    return os_device(formatted("rsmi{}", number), gpu_type,
                     info("AMDUUID", uuid) + info("GPUModel", "MI300A"), "RSMI");
}

TEST(LoadXmlGpus, HaveTheUuidInRocmsForm) {
    const NodeTopology node =
        load_with_io(pci("0000:c1:00.0", "0380", "1002:7408", rsmi(0, "a7c19da329a2b8c")));
    EXPECT_EQ(node.gpus[0].uuid, "GPU-0a7c19da329a2b8c");
}

// The partitions of a divided MI300A tell no UUID but zeros, which name nothing.
TEST(LoadXmlGpus, AreSeveralOnADividedDevice) {
    const auto device = [](const std::string& address, int first) {
        return pci(address, "1200", "1002:74a0",
                   rsmi(first + 2, "0000000000000000") + rsmi(first, "11") + rsmi(first + 1, "0"));
    };
    const NodeTopology node = load_with_io(device("0001:01:00.0", 10) + device("0000:01:00.0", 8));
    EXPECT_THAT(addresses(node), ElementsAre("0000:01:00.0", "0000:01:00.0", "0000:01:00.0",
                                             "0001:01:00.0", "0001:01:00.0", "0001:01:00.0"));
    for (std::uint32_t i = 0; i < 6; ++i) {
        EXPECT_EQ(node.gpus[i].partition, i % 3) << i;
        EXPECT_EQ(node.gpus[i].uuid, i % 3 == 0 ? "GPU-0000000000000011" : "") << i;
        EXPECT_EQ(node.gpus[i].cpus, CpuSet::range(0, 3)) << i;
    }
    EXPECT_EQ(node.distances.size(), 6);
}

TEST(LoadXmlHcas, AreSortedByNameAndNumber) {
    const NodeTopology node =
        load_with_io(verbs("0000:01:00.0", "mlx5_10") + verbs("0000:02:00.0", "mlx5_bond_0"),
                     verbs("0000:03:00.0", "mlx5_2") + verbs("0000:04:00.0", "mlx5_0"));
    EXPECT_THAT(hca_names(node), ElementsAre("mlx5_0", "mlx5_2", "mlx5_10", "mlx5_bond_0"));
    EXPECT_EQ(node.hcas[1].pci, "0000:03:00.0");
    EXPECT_EQ(node.hcas[1].kind, HcaKind::verbs);
    EXPECT_EQ(node.hcas[1].numa, 1);
    EXPECT_EQ(node.hcas[1].cpus, CpuSet::range(4, 7));
}

TEST(LoadXmlHcas, TellTheStatesOfTheirPortsOnly) {
    const NodeTopology node = load_with_io(
        verbs("0000:01:00.0", "mlx5_0",
              info("Port1State", "4") + info("Port2State", "1") + info("Port3State", "2")));
    using State = HcaPort::State;
    EXPECT_THAT(node.hcas[0].ports, ElementsAre(HcaPort{1, State::active}, HcaPort{2, State::down},
                                                HcaPort{3, State::down}));
    EXPECT_THAT(load_with_io(verbs("0000:01:00.0", "mlx5_0")).hcas[0].ports, IsEmpty());
}

std::string network(const std::string& name, const std::string& subtype = "") {
    return os_device(name, network_type, "", subtype);
}

TEST(LoadXmlHcas, OfSlingshotAreInterfaces) {
    const NodeTopology node =
        load_with_io(pci("0000:c5:00.0", "0200", "17db:0501", network("hsi0") + network("cxi0")) +
                     pci("0000:c6:00.0", "0200", "1590:0371", network("hs1", "Slingshot")) +
                     pci("0000:c7:00.0", "0200", "1590:0371", network("hsn2")));
    ASSERT_THAT(hca_names(node), ElementsAre("hs1", "hsi0", "hsn2"));
    for (const Hca& hca : node.hcas) {
        EXPECT_EQ(hca.kind, HcaKind::slingshot);
        EXPECT_THAT(hca.ports, ElementsAre(HcaPort{}));
    }
}

TEST(LoadXmlHcas, AreNotOtherInterfaces) {
    const NodeTopology node =
        load_with_io(pci("0000:c5:00.0", "0200", "8086:1521", network("eth0")) +
                     // The first Slingshot: a ConnectX card, whose verbs device counts.
                     pci("0000:c6:00.0", "0200", "15b3:1019",
                         network("hsn0") + os_device("mlx5_0", openfabrics_type)));
    EXPECT_THAT(hca_names(node), ElementsAre("mlx5_0"));
}

TEST(LoadXmlHcas, OfAmazonAreEfaAndOthersMayHaveNoPciDevice) {
    const NodeTopology node =
        load(machine(package(0, pci("0000:c5:00.0", "0200", "1d0f:efa0",
                                    os_device("rdmap197s0", openfabrics_type))) +
                     package(1) + os_device("rxe0", openfabrics_type)));
    ASSERT_THAT(hca_names(node), ElementsAre("rdmap197s0", "rxe0"));
    EXPECT_EQ(node.hcas[0].kind, HcaKind::efa);
    EXPECT_EQ(node.hcas[1].pci, "");
    EXPECT_EQ(node.hcas[1].kind, HcaKind::verbs);
}

// ---- How near devices are to CPUs and to each other, in made-up machines of one rule each.

const std::string gpu = nvidia("0000:06:00.0");
const std::string hca = verbs("0000:07:00.0", "mlx5_0");

TEST(PciDistance, IsByTheNearestBridgeAboveBoth) {
    const auto below = [](const std::string& left, const std::string& right) {
        return host_bridge(
            bridge("00:01.0", bridge("01:00.0", bridge("02:00.0", bridge("03:00.0", left)) +
                                                    bridge("02:01.0", right))));
    };
    struct Row {
        Distance distance;
        std::string package_0;
        std::string package_1{};
        std::string machine{};
    };
    const std::vector<Row> rows = {
        // Below one switch, or on one card.
        {Distance::pix,
         host_bridge(bridge("00:01.0",
                            bridge("01:00.0", bridge("02:00.0", gpu) + bridge("02:01.0", hca))))},
        {Distance::pix, host_bridge(bridge("00:01.0", gpu + hca))},
        {Distance::pix, host_bridge(bridge("00:01.0", bridge("01:00.0", gpu) + hca))},
        {Distance::pix, host_bridge(nvidia("0000:06:00.0", os_device("mlx5_0", openfabrics_type)))},
        // Across two switches on either side.
        {Distance::pxb, below(gpu, hca)},
        {Distance::pxb, below(hca, gpu)},
        // Through the host bridge, or another one.
        {Distance::phb, host_bridge(bridge("00:01.0", gpu) + bridge("00:02.0", hca))},
        {Distance::phb, host_bridge(gpu + hca)},
        {Distance::node, host_bridge(gpu) + host_bridge(hca)},
        {Distance::node, "", "", host_bridge(gpu) + host_bridge(hca)},
        // Between NUMA nodes.
        {Distance::sys, host_bridge(gpu), host_bridge(hca)},
        {Distance::sys, host_bridge(gpu), "", host_bridge(hca)},
    };
    for (const Row& row : rows) {
        const NodeTopology node =
            load(machine(package(0, row.package_0) + package(1, row.package_1) + row.machine));
        EXPECT_THAT(node.distances, ElementsAre(ElementsAre(row.distance)))
            << row.package_0 << row.package_1 << row.machine;
    }
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
    // Where none is known, they are the ancestors'.
    const NodeTopology unknown = load(machine(machine_0, 0b10011));
    EXPECT_EQ(unknown.gpus.at(0).numa, 4);
    EXPECT_EQ(unknown.gpus[0].cpus, CpuSet::range(0, 7));
}

}  // namespace
}  // namespace distgpu
