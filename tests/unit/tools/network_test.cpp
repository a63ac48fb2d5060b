// Names and interfaces by which ranks find each other.
#include "check/network.h"

#include "map_environment.h"
#include "tools/findings_text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace distgpu {
namespace {

using Variables = MapEnvironment::Variables;

std::string interfaces(const char* variable, const char* value) {
    return text(
        check_interfaces(MapEnvironment(Variables{{variable, value}}), {"lo", "eth0", "ib0"}));
}

// NCCL's documentation of NCCL_SOCKET_IFNAME: prefixes, '=' whole names, '^' all but these.
TEST(Interfaces, OfNccl) {
    const char* const variable = "NCCL_SOCKET_IFNAME";
    EXPECT_EQ(interfaces(variable, "eth"), "");
    EXPECT_EQ(interfaces(variable, "ens,ib"), "");
    EXPECT_EQ(interfaces(variable, "=eth0"), "");
    EXPECT_EQ(interfaces(variable, "^lo,docker"), "");
    EXPECT_EQ(interfaces(variable, "^=eth0"), "");
    EXPECT_EQ(interfaces(variable, "=eth"),
              "failed NCCL_SOCKET_IFNAME: no interface '=eth' is up on this node; up: "
              "lo, eth0, ib0\n");
    EXPECT_NE(interfaces(variable, "ens"), "");
    EXPECT_NE(interfaces(variable, "^lo,eth,ib"), "");
    EXPECT_NE(interfaces(variable, "ens,"), "");  // an empty name is no prefix of all
}

TEST(Interfaces, OfGlooAreAllThere) {
    const char* const variable = "GLOO_SOCKET_IFNAME";
    EXPECT_EQ(interfaces(variable, "eth0"), "");
    EXPECT_EQ(interfaces(variable, "eth0,ib0"), "");
    EXPECT_NE(interfaces(variable, "eth"), "");
    EXPECT_NE(interfaces(variable, "eth0,ib1"), "");
    EXPECT_EQ(interfaces(variable, ""), "");
}

TEST(Interfaces, OfThisMachineHaveTheLoopback) {
    const auto names = usable_interfaces();
    EXPECT_NE(std::find(names.begin(), names.end(), "lo"), names.end());
}

std::string names(const NameCheck& node, const std::string& address,
                  const Variables& variables = {}) {
    return text(check_names(MapEnvironment(variables), node, {address, 2000},
                            Clock::now() + std::chrono::seconds(5)));
}

// An address that stands for itself, and belongs to no machine (RFC 5737).
constexpr const char* elsewhere = "192.0.2.1";

TEST(Names, OfRank0sNodeSeenFromOthers) {
    const NameCheck node{"localhost.invalid", true, false};
    EXPECT_EQ(names(node, elsewhere), "");
    EXPECT_EQ(names(node, "127.0.1.1"),
              "failed rendezvous address 127.0.1.1: resolves to 127.0.1.1 on localhost.invalid, "
              "which is localhost.invalid itself and not rank 0's node\n");
    EXPECT_EQ(names(node, "nowhere.invalid").substr(0, 55),
              "failed rendezvous address nowhere.invalid: no address: ");
}

TEST(Names, OfRank0sNodeSeenFromItself) {
    const NameCheck node{"localhost.invalid", true, true};
    EXPECT_EQ(names(node, elsewhere),
              "failed rendezvous address 192.0.2.1: not an address of localhost.invalid, where "
              "rank 0 runs\n");
    EXPECT_EQ(names(node, "127.0.1.1"),
              "warning rendezvous address 127.0.1.1: resolves to 127.0.1.1 on localhost.invalid "
              "itself, so other nodes cannot reach it\n");
}

TEST(Names, OfTheNodeItselfMatterToGloo) {
    const NameCheck node{"localhost", true, false};
    EXPECT_EQ(names(node, elsewhere, {{"GLOO_SOCKET_IFNAME", "eth0"}}), "");
    const std::string said = names(node, elsewhere);
    EXPECT_EQ(said.substr(0, 41), "warning host name localhost: resolves to ");
}

TEST(Names, OfOneNodeAloneMayBeTheLoopback) {
    EXPECT_EQ(names({"localhost", false, true}, "localhost"), "");
    EXPECT_NE(names({"localhost", false, true}, "nowhere.invalid"), "");
}

}  // namespace
}  // namespace distgpu
