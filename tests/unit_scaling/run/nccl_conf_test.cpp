#include "run/nccl_conf.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using Files = std::vector<ConfFile>;
using Variables = std::vector<Variable>;

const ConfFile of_all_users{"/etc/nccl.conf", "/etc/nccl.conf"};

TEST(NcclConfFiles, TheUsersComesFirst) {
    EXPECT_EQ(nccl_conf_files("", "/home/anna"),
              (Files{{"/home/anna/.nccl.conf", "~/.nccl.conf"}, of_all_users}));
    EXPECT_EQ(nccl_conf_files("", ""), (Files{of_all_users}));
}

TEST(NcclConfFiles, ANamedOneStandsInForTheUsers) {
    EXPECT_EQ(nccl_conf_files("/data/fast.conf", "/home/anna"),
              (Files{{"/data/fast.conf", "/data/fast.conf"}, of_all_users}));
}

// NCCL's own documentation sets NCCL_SOCKET_IFNAME==ens1f0: the value begins with '='.
TEST(ReadNcclConf, ALineEach) {
    EXPECT_EQ(read_nccl_conf("#NCCL_DEBUG=TRACE\nNCCL_DEBUG=WARN\n\nNCCL_SOCKET_IFNAME==ens1f0\n"
                             "no variable\nNCCL_ALGO=",
                             "f"),
              (Variables{{"NCCL_DEBUG", "WARN", "f"},
                         {"NCCL_SOCKET_IFNAME", "=ens1f0", "f"},
                         {"NCCL_ALGO", "", "f"}}));
}

// To NCCL a blank is part of the name or the value, and a '#' behind it too.
TEST(ReadNcclConf, WhiteSpaceBelongsToTheLine) {
    EXPECT_EQ(read_nccl_conf(" NCCL_DEBUG = WARN # why\n", "f"),
              (Variables{{" NCCL_DEBUG ", " WARN # why", "f"}}));
}

}  // namespace
}  // namespace distgpu::scaling
