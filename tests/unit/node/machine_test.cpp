// What /proc and /sys say, read from folders that look like them, and CPU masks of real processes.
#include "node/machine.h"

#include "child_process.h"
#include "made_up_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sched.h>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = HcaPort::State;
using Link = HcaPort::Link;

MachineRoots roots(const MadeUpFolder& folder) {
    return {folder.path("proc"), folder.path("sys")};
}

TEST(MachineIdentity, IsTheBootIdThePciDevicesAndTheirDrivers) {
    const MadeUpFolder folder;
    const std::string boot_id = "proc/sys/kernel/random/boot_id";
    for (const bool is_empty : {false, true}) {
        if (is_empty) folder.write(boot_id, "\n");
        const auto identity = machine_identity(roots(folder));
        ASSERT_FALSE(identity);
        EXPECT_EQ(identity.error().message(),
                  "distgpu: " + folder.path(boot_id) + ": cannot be read; mount proc there");
    }
    folder.write(boot_id, "6f9b7fe2-8f2e-4bb2-a4d4-3a3c8a6f1b0c\n");
    EXPECT_THAT(machine_identity(roots(folder))->pci, IsEmpty());
    for (const char* device : {"0000:c1:00.0", "0000:00:1f.0", "10000:e1:00.0"}) {
        folder.write(std::string("sys/bus/pci/devices/") + device + "/class", "0x060400\n");
    }
    for (const char* driver :
         {"bus/pci/drivers/nvidia", "bus/pci/drivers/mlx5_core", "class/infiniband/mlx5_0"}) {
        folder.write(std::string("sys/") + driver + "/uevent", "");
    }
    const auto identity = machine_identity(roots(folder));
    ASSERT_TRUE(identity);
    EXPECT_THAT(identity->drivers, ElementsAre("mlx5_0", "mlx5_core", "nvidia"));
    EXPECT_EQ(identity->boot_id, "6f9b7fe2-8f2e-4bb2-a4d4-3a3c8a6f1b0c");
    EXPECT_THAT(identity->pci, ElementsAre("0000:00:1f.0", "0000:c1:00.0", "10000:e1:00.0"));
}

std::vector<HcaPort> ports_of(const MadeUpFolder& folder, const std::string& name, HcaKind kind) {
    NodeTopology topology;
    topology.hcas.resize(1);
    topology.hcas[0].name = name;
    topology.hcas[0].kind = kind;
    topology.hcas[0].ports = {{9, State::active, Link::infiniband, 9}};  // of before
    update_hca_ports(topology, roots(folder));
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
    folder.write(ports + "10/state", "5: ACTIVE_DEFER\n");
    folder.write(ports + "3/link_layer", "Unspecified\n");
    folder.write(ports + "3/rate", "nan\n");
    // By number, and unknown what cannot be read.
    EXPECT_THAT(ports_of(folder, "mlx5_0", HcaKind::verbs),
                ElementsAre(HcaPort{1, State::active, Link::infiniband, 400},
                            HcaPort{2, State::down, Link::ethernet, 2.5},
                            HcaPort{3, State::unknown, Link::unknown, 0},
                            HcaPort{10, State::down, Link::unknown, 0}));
}

TEST(ReadPorts, ReadsASlingshotInterface) {
    const MadeUpFolder folder;
    for (const auto& [file, text] : {std::pair{"hsn0/operstate", "up"},
                                     {"hsn0/type", "1"},
                                     {"hsn0/speed", "200000"},
                                     {"hsn1/operstate", "down"},
                                     {"hsn1/type", "1"},
                                     {"hsn1/speed", "-1"},
                                     {"hsn2/operstate", "unknown"}}) {
        folder.write(std::string("sys/class/net/") + file, std::string(text) + "\n");
    }
    const auto port = [&](const char* name) { return ports_of(folder, name, HcaKind::slingshot); };
    EXPECT_THAT(port("hsn0"), ElementsAre(HcaPort{1, State::active, Link::ethernet, 200}));
    EXPECT_THAT(port("hsn1"), ElementsAre(HcaPort{1, State::down, Link::ethernet, 0}));
    EXPECT_THAT(port("hsn2"), ElementsAre(HcaPort{1, State::unknown, Link::unknown, 0}));
    // An HCA that is gone has no ports.
    EXPECT_THAT(port("hsn3"), IsEmpty());
    EXPECT_THAT(ports_of(folder, "mlx5_0", HcaKind::verbs), IsEmpty());
}

// ---- CPU masks of real processes, against what the C library says of them.

CpuSet allowed_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    CpuSet cpus;
    for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set)) cpus.add(cpu);
    }
    return cpus;
}

TEST(Affinity, IsRead) {
    KernelCpuSet cpus;
    cpus.fill(~CpuSet::Word{0});
    ASSERT_TRUE(read_affinity(0, cpus));
    EXPECT_EQ(CpuSet::from_words(cpus), allowed_cpus());
    ASSERT_TRUE(read_affinity(getpid(), cpus));
    EXPECT_EQ(CpuSet::from_words(cpus), allowed_cpus());
    ChildProcess child([] { return true; });
    const pid_t ended = child.pid();
    ASSERT_TRUE(child.release());
    EXPECT_FALSE(read_affinity(ended, cpus));
}

TEST(Affinity, IsSetForThisProcessUnlessTheMachineLacksIt) {
    const auto is_set = [](const CpuSet& cpus) {
        ChildProcess child([&] { return set_affinity(cpus) && allowed_cpus() == cpus; });
        return child.release();
    };
    EXPECT_TRUE(is_set({allowed_cpus().cpus().back()}));
    const auto refused = [](const CpuSet& cpus) {
        ChildProcess child([&] { return !set_affinity(cpus); });
        return child.release();
    };
    EXPECT_TRUE(refused({CpuSet::cpu_limit - 1}));
    // The kernel would take the part that it knows.
    EXPECT_TRUE(refused({CpuSet::cpu_limit, allowed_cpus().cpus().front()}));
}

TEST(ProcessEnvironment, IsThatOfThisProcess) {
    ProcessEnvironment environment;
    constexpr const char* name = "DISTGPU_TEST_VARIABLE";
    EXPECT_EQ(environment.get(name), std::nullopt);
    EXPECT_TRUE(environment.set(name, "1"));
    EXPECT_TRUE(environment.set(name, "a=b"));
    EXPECT_STREQ(std::getenv(name), "a=b");
    EXPECT_EQ(environment.get(name), "a=b");
    EXPECT_THAT(environment.names(), testing::Contains(name));
    environment.unset(name);
    EXPECT_EQ(environment.get(name), std::nullopt);
    EXPECT_FALSE(environment.set("", "no name"));
}

}  // namespace
}  // namespace distgpu
