// The bytes of a node.
#include "inspect/traffic.h"

#include "made_up_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <unistd.h>

namespace distgpu {
namespace {

// As Linux 6.1 prints it.
TEST(Traffic, InterfacesCountButTheLoopback) {
    const std::string text =
        R"(Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 5000000   10    0    0    0     0          0         0  5000000   10    0    0    0     0       0          0
  eth0:    1000   10    0    0    0     0          0         0      200   10    0    0    0     0       0          0
ibp1s0:18446744073709551615 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0
)";
    EXPECT_EQ(parse_net_dev(text), 1200U);  // what is counted modulo 2^64 goes round
    EXPECT_EQ(parse_net_dev(""), 0U);
    EXPECT_EQ(parse_net_dev("eth0: 7"), 7U);
}

TEST(Traffic, AProcessCountsWhatItReadsAndWrites) {
    EXPECT_EQ(parse_process_io("rchar: 30\nwchar: 12\nsyscr: 900\nread_bytes: 4096\n"), 42U);
    EXPECT_EQ(parse_process_io(""), 0U);
    const Traffic traffic({getpid()});
    std::ofstream("/dev/null") << std::string(1 << 20, 'x') << std::flush;
    EXPECT_GE(traffic.bytes(), 1U << 20);
}

TEST(Traffic, PortsCountWordsAndEfaBytes) {
    const MadeUpFolder folder;
    folder.write("mlx5_0/ports/1/counters/port_rcv_data", "100\n");
    folder.write("mlx5_0/ports/1/counters/port_xmit_data", "20\n");
    folder.write("mlx5_1/ports/2/counters/port_rcv_data", "3\n");
    folder.write("efa_0/ports/1/hw_counters/rx_bytes", "5000\n");
    folder.write("efa_0/ports/1/hw_counters/tx_bytes", "600\n");
    EXPECT_EQ(read_port_bytes(folder.path()), 4U * 123 + 5600);
    EXPECT_EQ(read_port_bytes("/nowhere"), 0U);
}

TEST(Traffic, SomeBytesProveNoWork) {
    EXPECT_FALSE(is_at_work(0, 0, 0));
    EXPECT_FALSE(is_at_work(10 * 65'536, 10, 0));
    EXPECT_TRUE(is_at_work(10 * 65'536 + 1, 10, 0));
    EXPECT_FALSE(is_at_work(10 * (65'536 + 1024 * 1024), 10, 1024));
    EXPECT_TRUE(is_at_work(10 * (65'536 + 1024 * 1024) + 1, 10, 1024));
}

}  // namespace
}  // namespace distgpu
