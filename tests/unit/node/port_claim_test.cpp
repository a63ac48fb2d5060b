// Who has a port of this machine, by claims of this process's user.
#include "node/port_claim.h"

#include <gtest/gtest.h>

#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

// A port apart from those of the tests that run beside this one; nobody listens there.
const auto port = static_cast<std::uint16_t>(1024 + getpid() % 30000);

using Claims = PortClaims;

TEST(PortClaims, AreOfOneStepUntilItGivesThemUp) {
    Claims first(Claims::Heirs::none);
    Claims second(Claims::Heirs::none);
    EXPECT_EQ(first.take(port, "7.0"), std::nullopt);
    EXPECT_EQ(second.take(port, "7.1"), "step 7.0");
    EXPECT_EQ(second.take(port, "6.1"), "step 7.0");
    EXPECT_EQ(second.take(port + 1, "7.1"), std::nullopt);
    first.release();
    EXPECT_EQ(second.take(port, "7.1"), std::nullopt);
}

TEST(PortClaims, AreOfAllOfAStep) {
    Claims first(Claims::Heirs::none);
    Claims same(Claims::Heirs::none);
    EXPECT_EQ(first.take(port, "7.0"), std::nullopt);
    EXPECT_EQ(same.take(port, "7.0"), std::nullopt);
}

TEST(PortClaims, NameNoOtherText) {
    Claims first(Claims::Heirs::none);
    Claims second(Claims::Heirs::none);
    EXPECT_EQ(first.take(port, "process 12"), std::nullopt);
    EXPECT_EQ(second.take(port, "process 13"), "another program of yours");
}

// As in a child of slurmstepd that has its memory and copies of its descriptors.
TEST(PortClaims, AreGivenUpForAProcessThatKeepsADescriptor) {
    Claims first(Claims::Heirs::none);
    EXPECT_EQ(first.take(port, "7.0"), std::nullopt);
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
        first.release();
        _exit(0);
    }
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    Claims second(Claims::Heirs::none);
    EXPECT_EQ(second.take(port, "7.1"), std::nullopt);
}

}  // namespace
}  // namespace distgpu
