// Live discovery: of a made-up machine, and what can be said of any.
#include "node/discovery/discover.h"

#include "base/format.h"
#include "base/io/files.h"
#include "made_up_folder.h"
#include "node/discovery/hwloc_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A machine for live discovery: a folder that looks like its / to hwloc, whose test suite uses
// HWLOC_FSROOT for the same. Two packages of two cores; NUMA node 2 is memory without CPUs, nearer
// to node 1.
class MadeUpMachine {
  public:
    MadeUpMachine() {
        setenv("HWLOC_FSROOT", folder_.path().c_str(), 1);
        // Without it hwloc asks the processor of the machine that runs the test.
        setenv("HWLOC_COMPONENTS", "linux,stop", 1);
        for (const char* list : {"online", "possible", "present"}) {
            write(formatted("sys/devices/system/cpu/{}", list), "0-3");
        }
        for (unsigned cpu = 0; cpu < 4; ++cpu) add_cpu(cpu);
        for (const char* list : {"online", "possible"}) {
            write(formatted("sys/devices/system/node/{}", list), "0-2");
        }
        add_numa_node(0, 0b0011, "10 20 80");
        add_numa_node(1, 0b1100, "20 10 40");
        add_numa_node(2, 0, "80 40 10");
        write("proc/meminfo", "MemTotal: 3000000 kB");
        write("proc/cpuinfo", "processor : 0");
        write("proc/mounts", "");
    }
    ~MadeUpMachine() {
        unsetenv("HWLOC_FSROOT");
        unsetenv("HWLOC_COMPONENTS");
    }

    MachineRoots roots() const { return {folder_.path("proc"), folder_.path("sys")}; }

    void write(const std::string& file, const std::string& text) const {
        folder_.write(file, text + "\n");
    }

    // `numa` -1: Linux knows no node.
    void add_pci(const std::string& address, const std::string& pci_class,
                 const std::string& vendor, int numa) const {
        const std::string device = "sys/bus/pci/devices/" + address;
        constexpr const char* cpus[] = {"0000000f", "00000003", "0000000c", "00000000"};
        write(device + "/class", "0x" + pci_class);
        write(device + "/vendor", "0x" + vendor);
        write(device + "/device", "0x1234");
        write(device + "/local_cpus", cpus[numa + 1]);
        write(device + "/numa_node", std::to_string(numa));
    }

    // A PCI bridge to the buses `first` to `last`, which are bytes of its configuration space.
    void add_bridge(const std::string& address, char first, char last) const {
        add_pci(address, "060400", "1022", 0);
        std::string config(64, '\0');
        config[0x0e] = 1;  // a bridge's header
        config[0x19] = first;
        config[0x1a] = last;
        write("sys/bus/pci/devices/" + address + "/config", config);
    }

    // Its folder, which sys/class/infiniband links to, as in Linux.
    std::string add_infiniband(const std::string& name, const std::string& address) const {
        const std::string below_sys =
            formatted("devices/pci0000:00/{}/infiniband/{}", address, name);
        write(formatted("sys/{}/node_guid", below_sys), "0000:0000:0000:0000");
        std::filesystem::create_directories(folder_.path("sys/class/infiniband"));
        std::filesystem::create_directory_symlink("../../" + below_sys,
                                                  folder_.path("sys/class/infiniband/" + name));
        return "sys/" + below_sys;
    }

  private:
    void add_cpu(unsigned cpu) const {
        const std::string folder = formatted("sys/devices/system/cpu/cpu{}/", cpu);
        write(folder + "online", "1");
        write(folder + "topology/core_id", std::to_string(cpu % 2));
        write(folder + "topology/physical_package_id", std::to_string(cpu / 2));
        write(folder + "topology/thread_siblings", formatted("{:08x}", 1U << cpu));
        write(folder + "topology/core_siblings", formatted("{:08x}", 3U << cpu / 2 * 2));
    }

    void add_numa_node(unsigned node, unsigned cpus, const std::string& distances) const {
        const std::string folder = formatted("sys/devices/system/node/node{}/", node);
        write(folder + "cpumap", formatted("{:08x}", cpus));
        write(folder + "distance", distances);
        write(folder + "meminfo", formatted("Node {} MemTotal: 1000000 kB", node));
    }

    MadeUpFolder folder_;
};

NodeTopology discovered(const MadeUpMachine& machine) {
    const auto topology = discover(machine.roots());
    EXPECT_TRUE(topology) << topology.error().message();
    return topology ? *topology : NodeTopology{};
}

TEST(Discover, ReadsCoresAndNumaNodes) {
    const MadeUpMachine machine;
    const NodeTopology node = discovered(machine);
    EXPECT_EQ(node.source, "live");
    EXPECT_THAT(node.numas, ElementsAre(NumaNode{0, {0, 1}}, NumaNode{1, {2, 3}}, NumaNode{2, {}}));
    EXPECT_THAT(node.cores,
                ElementsAre(Core{{0}, 0, 0}, Core{{1}, 0, 0}, Core{{2}, 1, 1}, Core{{3}, 1, 1}));
}

TEST(Discover, AsksNvidiasDriver) {
    const MadeUpMachine machine;
    machine.add_pci("0000:16:00.0", "030200", "10de", 1);
    machine.add_pci("0000:06:00.0", "030200", "10de", 0);
    EXPECT_EQ(discovered(machine).gpus.at(1),
              (Gpu{"0000:16:00.0", 0, GpuVendor::nvidia, "", "", std::nullopt, 1, {2, 3}, {}}));
    const auto add_driver = [&](const std::string& pci, int minor) {
        machine.write(
            "proc/driver/nvidia/gpus/" + pci + "/information",
            formatted("Model: \t NVIDIA H200\nGPU UUID: \t GPU-{0}\nDevice Minor: \t {0}", minor));
    };
    add_driver("0000:06:00.0", 3);
    // CUDA counts the GPUs of its driver; the other one may be a virtual machine's.
    EXPECT_THAT(
        discovered(machine).gpus,
        ElementsAre(
            Gpu{"0000:06:00.0", 0, GpuVendor::nvidia, "NVIDIA H200", "GPU-3", 3, 0, {0, 1}, {}}));
    // Minors need not follow the addresses.
    add_driver("0000:16:00.0", 0);
    const NodeTopology both = discovered(machine);
    ASSERT_EQ(both.gpus.size(), 2);
    EXPECT_EQ(both.gpus[0].minor, 3);
    EXPECT_EQ(both.gpus[1].minor, 0);
}

// SR-IOV: the functions beside their device are for virtual machines. In a virtual machine the
// function is there alone.
TEST(Discover, LeavesOutVirtualFunctionsBesideTheirDevice) {
    const MadeUpMachine machine;
    for (const char* address : {"0000:05:00.0", "0000:05:00.1"}) {
        machine.add_pci(address, "020700", "15b3", 1);
    }
    machine.add_infiniband("mlx5_0", "0000:05:00.0");
    machine.add_infiniband("mlx5_1", "0000:05:00.1");
    for (const char* address : {"0000:06:00.0", "0000:06:00.4"}) {
        machine.add_pci(address, "030200", "10de", 0);
    }
    EXPECT_EQ(discovered(machine).hcas.size(), 2);
    EXPECT_EQ(discovered(machine).gpus.size(), 2);
    machine.write("sys/bus/pci/devices/0000:05:00.1/physfn/class", "0x020700");
    machine.write("sys/bus/pci/devices/0000:06:00.4/physfn/class", "0x030200");
    const NodeTopology node = discovered(machine);
    ASSERT_EQ(node.hcas.size(), 1);
    EXPECT_EQ(node.hcas[0].name, "mlx5_0");
    ASSERT_EQ(node.gpus.size(), 1);
    EXPECT_EQ(node.gpus[0].pci, "0000:06:00.0");
}

// Two functions of a card that are bonded are one device with one port, of both links' rate. A card
// of one function with two ports is one device too.
TEST(Discover, CountsABondOnceAndBothPortsOfADualPortCard) {
    const MadeUpMachine machine;
    machine.add_pci("0000:05:00.0", "020000", "15b3", 1);
    machine.add_pci("0000:05:00.1", "020000", "15b3", 1);
    machine.add_pci("0000:06:00.0", "020700", "15b3", 0);
    machine.add_pci("0000:c5:00.0", "020000", "1d0f", 0);
    machine.add_infiniband("efa_0", "0000:c5:00.0");
    const auto add_port = [&](const std::string& device, int port, const char* link, int rate) {
        const std::string folder = formatted("{}/ports/{}/", device, port);
        machine.write(folder + "state", "4: ACTIVE");
        machine.write(folder + "link_layer", link);
        machine.write(folder + "rate", formatted("{} Gb/sec (4X NDR)", rate));
    };
    add_port(machine.add_infiniband("mlx5_bond_0", "0000:05:00.0"), 1, "Ethernet", 200);
    const std::string dual = machine.add_infiniband("mlx4_0", "0000:06:00.0");
    add_port(dual, 1, "InfiniBand", 56);
    add_port(dual, 2, "InfiniBand", 56);
    using State = HcaPort::State;
    using Link = HcaPort::Link;
    EXPECT_THAT(discovered(machine).hcas,
                ElementsAre(Hca{"efa_0", "0000:c5:00.0", HcaKind::efa, 0, {0, 1}, {}},
                            Hca{"mlx4_0",
                                "0000:06:00.0",
                                HcaKind::verbs,
                                0,
                                {0, 1},
                                {{1, State::active, Link::infiniband, 56},
                                 {2, State::active, Link::infiniband, 56}}},
                            Hca{"mlx5_bond_0",
                                "0000:05:00.0",
                                HcaKind::verbs,
                                1,
                                {2, 3},
                                {{1, State::active, Link::ethernet, 200}}}));
}

// The loaded library stands in for the driver's of the same name.
TEST(Discover, ListsMigInstancesOfADividedGpuAlone) {
    void* const nvml = dlopen(DISTGPU_FAKE_NVML, RTLD_NOW);
    ASSERT_NE(nvml, nullptr);
    const MadeUpMachine machine;
    machine.add_pci("0000:06:00.0", "030200", "10de", 0);
    machine.write("proc/driver/nvidia/gpus/0000:06:00.0/information", "Device Minor: \t 3");
    EXPECT_THAT(discovered(machine).gpus.at(0).mig, IsEmpty());
    machine.write("proc/driver/nvidia/capabilities/gpu3/mig/gi1/access", "");
    EXPECT_THAT(discovered(machine).gpus.at(0).mig,
                ElementsAre(MigInstance{"MIG-0", "1g.18gb"}, MigInstance{"MIG-2", "3g.71gb+me"}));
    dlclose(nvml);
}

TEST(Discover, CountsAmdsGpusAsTheirDriverDoes) {
    const MadeUpMachine machine;
    machine.add_pci("0000:01:00.0", "120000", "1002", 0);
    machine.add_pci("0001:c1:03.1", "120000", "1002", 1);
    machine.add_pci("0002:01:00.0", "030000", "1002", 1);  // a screen, which the driver leaves out
    machine.write("sys/bus/pci/devices/0001:c1:03.1/product_name", "AMD Instinct MI300A");
    const auto add_kfd = [&](int node, int simds, std::uint64_t location, int domain,
                             std::uint64_t unique_id, int minor) {
        machine.write(formatted("sys/class/kfd/kfd/topology/nodes/{}/properties", node),
                      formatted("cpu_cores_count 0\nsimd_count {}\nlocation_id {}\ndomain {}\n"
                                "unique_id {}\ndrm_render_minor {}",
                                simds, location, domain, unique_id, minor));
    };
    // The location has the partition, then bus, device and function.
    add_kfd(0, 0, 0x100, 0, 0, 0);  // a CPU
    add_kfd(1, 152, 0x1000'0100, 0, 0, 128);
    add_kfd(2, 152, 0x100, 0, 0, 129);
    add_kfd(3, 152, 0xc119, 1, 0x4a7c19da329a2b8c, 0);
    const NodeTopology node = discovered(machine);
    ASSERT_EQ(node.gpus.size(), 3);
    EXPECT_EQ(node.gpus[0], (Gpu{"0000:01:00.0", 0, GpuVendor::amd, "", "", 129, 0, {0, 1}, {}}));
    EXPECT_EQ(node.gpus[1], (Gpu{"0000:01:00.0", 1, GpuVendor::amd, "", "", 128, 0, {0, 1}, {}}));
    EXPECT_EQ(node.gpus[2], (Gpu{"0001:c1:03.1",
                                 0,
                                 GpuVendor::amd,
                                 "AMD Instinct MI300A",
                                 "GPU-4a7c19da329a2b8c",
                                 std::nullopt,
                                 1,
                                 {2, 3},
                                 {}}));
}

TEST(Discover, KnowsANumaNodeWithoutCpus) {
    const MadeUpMachine machine;
    machine.add_pci("0000:06:00.0", "030200", "10de", 2);
    machine.add_pci("0000:16:00.0", "030200", "10de", -1);
    const NodeTopology node = discovered(machine);
    ASSERT_EQ(node.gpus.size(), 2);
    EXPECT_EQ(node.gpus[0].numa, 2);
    EXPECT_EQ(node.gpus[0].cpus, CpuSet({2, 3}));
    EXPECT_EQ(node.gpus[1].numa, std::nullopt);
    EXPECT_EQ(node.gpus[1].cpus, CpuSet::range(0, 3));
}

// The firmware may say which node's CPUs use a memory, beside how far it is from all of them.
TEST(Discover, TakesTheCpusThatTheFirmwareNamesBeforeTheNearest) {
    const MadeUpMachine machine;
    machine.write("sys/devices/system/node/node2/access0/initiators/node0/cpulist", "0-1");
    machine.add_pci("0000:06:00.0", "030200", "10de", 2);
    EXPECT_EQ(discovered(machine).gpus.at(0).cpus, CpuSet({0, 1}));
}

// By bridges: bus 0 has one to buses 1 and 2, which has one to bus 2, and one to bus 3.
TEST(Discover, MeasuresDistances) {
    const MadeUpMachine machine;
    machine.add_bridge("0000:00:01.0", 1, 2);
    machine.add_bridge("0000:01:00.0", 2, 2);
    machine.add_bridge("0000:00:02.0", 3, 3);
    machine.add_pci("0000:02:00.0", "030200", "10de", 0);
    for (const auto& [name, address] : {std::pair{"mlx5_0", "0000:01:01.0"},
                                        {"mlx5_1", "0000:03:00.0"},
                                        {"mlx5_2", "0000:c1:00.0"}}) {
        machine.add_pci(address, "020700", "15b3", 0);
        machine.add_infiniband(name, address);
    }
    EXPECT_THAT(discovered(machine).distances,
                ElementsAre(ElementsAre(Distance::pix, Distance::phb, Distance::node)));
}

// Whatever machine runs the tests.
TEST(Discover, FindsEveryCpuThatIsOnline) {
    const auto topology = discover();
    ASSERT_TRUE(topology) << topology.error().message();
    CpuSet all;
    for (const Core& core : topology->cores) all |= core.cpus;
    EXPECT_EQ(all.to_string(), read_trimmed("/sys/devices/system/cpu/online"));
    EXPECT_EQ(topology->host, read_trimmed("/proc/sys/kernel/hostname"));
}

std::string refusal(const std::string& text) {
    const MadeUpFolder folder;
    folder.write("node.xml", text);
    const auto topology = load_topology(folder.path("node.xml"));
    EXPECT_FALSE(topology) << text;
    const std::string message = topology ? "" : topology.error().message();
    const std::string begin = "distgpu: " + folder.path("node.xml") + ": ";
    EXPECT_EQ(message.substr(0, begin.size()), begin);
    return message.substr(begin.size());
}

TEST(LoadTopology, RefusesWhatHwlocDoesNotRead) {
    const std::string hwloc = formatted("hwloc {}", discovery::hwloc_major());
    const std::string unreadable =
        "not a topology that " + hwloc + " reads; write it again with lstopo FILE.xml";
    EXPECT_EQ(refusal(""), unreadable);
    EXPECT_EQ(refusal("hello"), unreadable);
    EXPECT_EQ(refusal("<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\""),
              unreadable);
    EXPECT_EQ(refusal("<topology version=\"9.0\"></topology>"),
              formatted("written by hwloc 9, but this program uses {}; "
                        "write it with lstopo --export-xml-flags v{}",
                        hwloc, discovery::hwloc_major()));
}

TEST(LoadTopology, ReadsJsonByItsFirstByte) {
    EXPECT_EQ(refusal(" \n\t{"), "not JSON, or cut short; write it again with distgpu topo");
    const MadeUpFolder folder;
    NodeTopology node;
    node.source = "live";
    node.numas = {{0, {0}}};
    node.cores = {{{0}, 0, 0}};
    folder.write("node.json", "\n " + to_json(node, MachineIdentity{"6f9b", {}}));
    const auto topology = load_topology(folder.path("node.json"));
    ASSERT_TRUE(topology) << topology.error().message();
    EXPECT_EQ(*topology, node);
}

}  // namespace
}  // namespace distgpu
