// The speed of interfaces, from a made-up /sys.
#include "check/pairs/interface.h"

#include "made_up_folder.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

constexpr double giga = 1e9 / 8;

class InterfaceSpeed : public testing::Test {
  protected:
    InterfaceSpeed() {
        folder_.write("proc/cpuinfo", "processor : 0\nflags : fpu vme\n\nflags : hypervisor\n");
        write("eth0/device/vendor", "0x15b3");
        write("eth0/speed", "100000\n");
    }

    void write(const std::string& file, const std::string& text) const {
        folder_.write("sys/class/net/" + file, text);
    }
    MachineRoots roots() const {
        return {.proc = folder_.path("proc"), .sys = folder_.path("sys")};
    }
    double speed(const std::string& name) const { return interface_speed(name, roots()); }

    MadeUpFolder folder_;
};

TEST_F(InterfaceSpeed, IsThatOfTheHardware) {
    EXPECT_EQ(speed("eth0"), 100 * giga);
    write("eth0/speed", "-1\n");
    EXPECT_EQ(speed("eth0"), 0);
    EXPECT_EQ(speed("eth7"), 0);
    EXPECT_EQ(speed(""), 0);
}

TEST_F(InterfaceSpeed, WithoutHardwareIsThatOfTheFastestBelow) {
    write("veth0/speed", "10000\n");
    EXPECT_EQ(speed("veth0"), 0);
    write("bond0/speed", "125000\n");
    write("bond0/lower_eth0/x", "");
    write("bond0/lower_eth1/x", "");
    write("eth1/device/vendor", "0x15b3");
    write("eth1/speed", "25000\n");
    EXPECT_EQ(speed("bond0"), 100 * giga);
    write("vlan0/lower_bond0/x", "");
    EXPECT_EQ(speed("vlan0"), 100 * giga);
}

TEST_F(InterfaceSpeed, OfInfiniBandIsThePortsRate) {
    write("ib1/device/infiniband/mlx5_0/ports/2/rate", "200 Gb/sec (4X HDR)\n");
    write("ib1/device/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
    write("ib1/speed", "-1\n");
    EXPECT_EQ(speed("ib1"), 100 * giga);
    write("ib1/dev_port", "1\n");
    EXPECT_EQ(speed("ib1"), 200 * giga);
}

TEST_F(InterfaceSpeed, InAVirtualMachineIsUnknown) {
    folder_.write("proc/cpuinfo", "processor : 0\nflags : fpu hypervisor\n");
    EXPECT_EQ(speed("eth0"), 0);
    // A processor without flags.
    folder_.write("proc/cpuinfo", "processor : 0\nFeatures : fp asimd\n\n");
    EXPECT_EQ(speed("eth0"), 100 * giga);
}

TEST_F(InterfaceSpeed, IsComparedWithWhatIsCarried) {
    write("eth0/statistics/tx_bytes", "5000000000\n");
    write("eth0/statistics/rx_bytes", "7\n");
    EXPECT_EQ(interface_traffic("eth0", roots()).sent, 5'000'000'000U);
    EXPECT_EQ(interface_traffic("eth0", roots()).received, 7U);
    EXPECT_EQ(interface_traffic("eth1", roots()).sent, 0U);
}

}  // namespace
}  // namespace distgpu
