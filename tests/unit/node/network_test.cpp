// This machine's addresses and ports, against real sockets. All addresses are numbers or its own
// name: nothing is looked up in the network.
#include "node/network.h"

#include "mapping/plan/plan_testing.h"
#include "node/machine.h"

#include <gtest/gtest.h>

#include <memory>
#include <net/if.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

Deadline in_time() {
    return Clock::now() + std::chrono::seconds(5);
}

TEST(NetworkInterfaceOf, AnOwnAddress) {
    const std::unique_ptr<struct if_nameindex, decltype(&if_freenameindex)> all(if_nameindex(),
                                                                                if_freenameindex);
    ASSERT_NE(all, nullptr);
    for (const struct if_nameindex* each = all.get(); each->if_name != nullptr; ++each) {
        const std::string address = address_of_interface(each->if_name);
        const NetworkInterface found = interface_of(address, in_time());
        if (address.empty() || !found.loopback.empty()) continue;
        EXPECT_EQ(found, (NetworkInterface{each->if_name, ""})) << address;
    }
    EXPECT_EQ(address_of_interface("lo"), "127.0.0.1");
    EXPECT_EQ(address_of_interface("none"), "");
}

// Debian writes 127.0.1.1 into /etc/hosts.
TEST(NetworkInterfaceOf, ALoopbackOrNobodysAddressIsNone) {
    for (const char* address : {"127.0.0.1", "127.0.1.1", "127.255.255.254", "::1"}) {
        EXPECT_EQ(interface_of(address, in_time()), (NetworkInterface{"", address})) << address;
    }
    // RFC 5737 and RFC 3849 set these apart for documents.
    for (const char* address : {"192.0.2.1", "2001:db8::1", "128.0.0.1", ""}) {
        EXPECT_EQ(interface_of(address, in_time()), NetworkInterface{}) << address;
    }
}

// RFC 4291 2.2 for IPv6; getaddrinfo would also take "1" and "0x7f.1" for IPv4.
TEST(IsIpAddress, IsWhatNeedsNoLookup) {
    for (const char* text : {"192.0.2.1", "2001:db8::1", "::", "::ffff:192.0.2.1"}) {
        EXPECT_TRUE(is_ip_address(text)) << text;
    }
    for (const char* text : {"", "node01", "192.0.2", "192.0.2.256", "1", "0x7f.1", "192.0.2.1 ",
                             "[::1]", "fe80::1%lo"}) {
        EXPECT_FALSE(is_ip_address(text)) << text;
    }
}

TEST(HasAddress, IsOneThatThisMachineAnswersAt) {
    EXPECT_TRUE(has_address("127.0.0.1"));
    EXPECT_TRUE(has_address("127.9.9.9"));  // routed here, although no interface lists it
    EXPECT_FALSE(has_address("203.0.113.7"));
}

// ---- Addresses that the user chose for rank 0's node, compared with this machine's. All are
// numbers or this machine's own name: nothing is looked up in the network.

// Empty: the address is accepted.
std::string refused(const char* spec, std::string address, std::uint32_t tasks = 2) {
    RendezvousFacts facts;
    facts.rank0_address = "10.0.0.1";
    facts.exported_address = std::move(address);
    std::vector<Error> warnings;
    const StepLayout on_n1 = plan_testing::layout("n1", {{0, 1, tasks, 1}});
    const auto error = check_address(*parse_spec("SPEC", spec), on_n1, facts, warnings);
    EXPECT_TRUE(warnings.empty());
    return error ? error->message() : "";
}

TEST(CheckAddress, RefusesThatOfAnotherMachine) {
    EXPECT_EQ(refused("pytorch", "192.0.2.7"),
              "distgpu: MASTER_ADDR=192.0.2.7: not an address of n1, where rank 0 runs; unset "
              "MASTER_ADDR");
    EXPECT_EQ(refused("pytorch,master=192.0.2.7", "n1"),
              "distgpu: master=192.0.2.7: not an address of n1, where rank 0 runs; leave master= "
              "out");
    EXPECT_NE(refused("torchrun", "192.0.2.7", 1), "");
}

TEST(CheckAddress, TakesTheNodesOwnAndAnyWhereNobodyLooksForRankZero) {
    for (const std::string& own : {std::string("n1"), std::string("10.0.0.1"), host_name(),
                                   std::string("127.0.0.1"), std::string("::1")}) {
        EXPECT_EQ(refused("pytorch", own), "") << own;
    }
    EXPECT_EQ(refused("pytorch", "192.0.2.7", 1), "");
    EXPECT_EQ(refused("horovod", "192.0.2.7"), "");
    EXPECT_EQ(refused("pytorch,master=name", "192.0.2.7"), "");
}

// ---- Who has a port of this machine, by claims of this process's user.

// A port apart from those of the tests that run beside this one; nobody listens there.
const auto port = static_cast<std::uint16_t>(1024 + getpid() % 30000);

using Claims = PortClaims;

TEST(PortClaims, AreOfOneStepUntilItGivesThemUp) {
    Claims first(Claims::OnExec::close);
    Claims second(Claims::OnExec::close);
    EXPECT_EQ(first.claim(port, "7.0"), std::nullopt);
    EXPECT_EQ(second.claim(port, "7.1"), "step 7.0");
    EXPECT_EQ(second.claim(port, "6.1"), "step 7.0");
    EXPECT_EQ(second.claim(port + 1, "7.1"), std::nullopt);
    // All of a step share it.
    Claims same(Claims::OnExec::close);
    EXPECT_EQ(same.claim(port, "7.0"), std::nullopt);
    first.release();
    EXPECT_EQ(second.claim(port, "7.1"), std::nullopt);
    // No other text than a step is named.
    second.release();
    EXPECT_EQ(first.claim(port, "process 12"), std::nullopt);
    EXPECT_EQ(second.claim(port, "process 13"), "another program of yours");
}

// As in a child of slurmstepd that has its memory and copies of its descriptors.
TEST(PortClaims, AreGivenUpForAProcessThatKeepsADescriptor) {
    Claims first(Claims::OnExec::close);
    EXPECT_EQ(first.claim(port, "7.0"), std::nullopt);
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
        first.release();
        _exit(0);
    }
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    Claims second(Claims::OnExec::close);
    EXPECT_EQ(second.claim(port, "7.1"), std::nullopt);
}

}  // namespace
}  // namespace distgpu
