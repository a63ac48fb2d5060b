// What /proc and /sys say, read from folders that look like them.
#include "node/machine.h"

#include "made_up_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = HcaPort::State;
using Link = HcaPort::Link;

MachineRoots roots(const MadeUpFolder& folder) {
    return {folder.path("proc"), folder.path("sys")};
}

TEST(MachineIdentity, IsTheBootIdAndThePciDevices) {
    const MadeUpFolder folder;
    folder.write("proc/sys/kernel/random/boot_id", "6f9b7fe2-8f2e-4bb2-a4d4-3a3c8a6f1b0c\n");
    for (const char* device : {"0000:c1:00.0", "0000:00:1f.0", "10000:e1:00.0"}) {
        folder.write(std::string("sys/bus/pci/devices/") + device + "/class", "0x060400\n");
    }
    const auto identity = machine_identity(roots(folder));
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->boot_id, "6f9b7fe2-8f2e-4bb2-a4d4-3a3c8a6f1b0c");
    EXPECT_THAT(identity->pci, ElementsAre("0000:00:1f.0", "0000:c1:00.0", "10000:e1:00.0"));
}

TEST(MachineIdentity, NeedsNoPci) {
    const MadeUpFolder folder;
    folder.write("proc/sys/kernel/random/boot_id", "1\n");
    const auto identity = machine_identity(roots(folder));
    ASSERT_TRUE(identity);
    EXPECT_THAT(identity->pci, IsEmpty());
}

TEST(MachineIdentity, NeedsTheBootId) {
    const MadeUpFolder folder;
    for (const bool is_empty : {false, true}) {
        if (is_empty) folder.write("proc/sys/kernel/random/boot_id", "\n");
        const auto identity = machine_identity(roots(folder));
        ASSERT_FALSE(identity);
        EXPECT_EQ(identity.error().message(),
                  "distgpu: " + folder.path("proc/sys/kernel/random/boot_id") +
                      ": cannot be read; mount proc there");
    }
}

std::vector<HcaPort> ports_of(const MadeUpFolder& folder, const std::string& name, HcaKind kind) {
    NodeTopology topology;
    topology.hcas.resize(1);
    topology.hcas[0].name = name;
    topology.hcas[0].kind = kind;
    topology.hcas[0].ports = {{9, State::active, Link::infiniband, 9}};  // of before
    read_ports(topology, roots(folder));
    return topology.hcas[0].ports;
}

// The texts are those of drivers/infiniband/core/sysfs.c.
TEST(ReadPorts, ReadsVerbsPorts) {
    const MadeUpFolder folder;
    const std::string ports = "sys/class/infiniband/mlx5_0/ports/";
    folder.write(ports + "1/state", "4: ACTIVE\n");
    folder.write(ports + "1/link_layer", "InfiniBand\n");
    folder.write(ports + "1/rate", "400 Gb/sec (4X NDR)\n");
    folder.write(ports + "2/state", "1: DOWN\n");
    folder.write(ports + "2/link_layer", "Ethernet\n");
    folder.write(ports + "2/rate", "2.5 Gb/sec (1X SDR)\n");
    EXPECT_THAT(ports_of(folder, "mlx5_0", HcaKind::verbs),
                ElementsAre(HcaPort{1, State::active, Link::infiniband, 400},
                            HcaPort{2, State::down, Link::ethernet, 2.5}));
}

TEST(ReadPorts, SortsPortsByNumber) {
    const MadeUpFolder folder;
    for (const char* port : {"10", "2", "1"}) {
        folder.write(std::string("sys/class/infiniband/opa/ports/") + port + "/state",
                     "5: ACTIVE_DEFER\n");
    }
    EXPECT_THAT(ports_of(folder, "opa", HcaKind::verbs),
                ElementsAre(HcaPort{1, State::down, Link::unknown, 0},
                            HcaPort{2, State::down, Link::unknown, 0},
                            HcaPort{10, State::down, Link::unknown, 0}));
}

TEST(ReadPorts, LeavesUnknownWhatCannotBeRead) {
    const MadeUpFolder folder;
    const std::string port = "sys/class/infiniband/rdmap16s27/ports/1/";
    folder.write(port + "link_layer", "Unspecified\n");
    folder.write(port + "rate", "nan\n");
    EXPECT_THAT(ports_of(folder, "rdmap16s27", HcaKind::efa),
                ElementsAre(HcaPort{1, State::unknown, Link::unknown, 0}));
}

TEST(ReadPorts, ReadsASlingshotInterface) {
    const MadeUpFolder folder;
    folder.write("sys/class/net/hsn0/operstate", "up\n");
    folder.write("sys/class/net/hsn0/type", "1\n");
    folder.write("sys/class/net/hsn0/speed", "200000\n");
    EXPECT_THAT(ports_of(folder, "hsn0", HcaKind::slingshot),
                ElementsAre(HcaPort{1, State::active, Link::ethernet, 200}));
    folder.write("sys/class/net/hsn1/operstate", "down\n");
    folder.write("sys/class/net/hsn1/type", "1\n");
    folder.write("sys/class/net/hsn1/speed", "-1\n");
    EXPECT_THAT(ports_of(folder, "hsn1", HcaKind::slingshot),
                ElementsAre(HcaPort{1, State::down, Link::ethernet, 0}));
    folder.write("sys/class/net/hsn2/operstate", "unknown\n");
    EXPECT_THAT(ports_of(folder, "hsn2", HcaKind::slingshot),
                ElementsAre(HcaPort{1, State::unknown, Link::unknown, 0}));
}

TEST(ReadPorts, TakesThePortsOfAnHcaThatIsGone) {
    const MadeUpFolder folder;
    EXPECT_THAT(ports_of(folder, "mlx5_0", HcaKind::verbs), IsEmpty());
    EXPECT_THAT(ports_of(folder, "hsn0", HcaKind::slingshot), IsEmpty());
}

}  // namespace
}  // namespace distgpu
