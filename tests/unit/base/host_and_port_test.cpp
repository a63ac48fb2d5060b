#include "base/host_and_port.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(HostAndPort, BracketsIpv6Addresses) {
    EXPECT_EQ(host_and_port("node01", 29500), "node01:29500");
    EXPECT_EQ(host_and_port("10.0.0.1", 1024), "10.0.0.1:1024");
    EXPECT_EQ(host_and_port("fd00::1", 65535), "[fd00::1]:65535");
    EXPECT_EQ(host_and_port("::1", 2000), "[::1]:2000");
}

}  // namespace
}  // namespace distgpu
