#include "facts/port.h"

#include "made_up_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// What is unusual after a change of the port.
template <class Change>
std::vector<std::string> unusual_after(const Change& change, const std::string& name = "mlx5_3") {
    const MadeUpPort port(name == "mlx5_3:2" ? "mlx5_3/ports/2" : "mlx5_3/ports/1");
    const PortReading before = read_port(name, port.roots());
    change(port);
    return unusual_of_port(name, before, read_port(name, port.roots()));
}

// Counters go on from job to job.
TEST(Port, WhatWasCountedBeforeTheRunIsNotTheRuns) {
    EXPECT_THAT(unusual_after([](const MadeUpPort&) {}), IsEmpty());
}

// The names are the kernel's (Documentation/ABI/stable/sysfs-class-infiniband).
TEST(Port, EveryCounterHasItsWords) {
    const std::vector<std::pair<const char*, const char*>> words{
        {"symbol_error", "symbol errors"},
        {"link_error_recovery", "recovered link errors"},
        {"link_downed", "link interruptions"},
        {"port_rcv_errors", "receive errors"},
        {"port_rcv_remote_physical_errors", "remote physical errors"},
        {"port_xmit_discards", "discarded packets"},
        {"local_link_integrity_errors", "link integrity errors"},
        {"excessive_buffer_overrun_errors", "buffer overruns"}};
    for (const auto& [counter, noun] : words) {
        EXPECT_THAT(unusual_after([name = counter](const auto& port) { port.count(name, 21); }),
                    ElementsAre(std::string("mlx5_3: 14 ") + noun + " during the run"));
    }
}

// A driver that was loaded again counts from 0.
TEST(Port, ACounterThatFellSaysNothing) {
    EXPECT_THAT(unusual_after([](const auto& port) { port.count("symbol_error", 2); }), IsEmpty());
}

TEST(Port, ALinkThatIsDownIsSaidFirst) {
    const auto unusual = unusual_after([](const auto& port) {
        port.write("state", "1: DOWN");
        port.count("link_downed", 8);
    });
    EXPECT_THAT(unusual, ElementsAre("mlx5_3: its link is down",
                                     "mlx5_3: 1 link interruption during the run"));
}

TEST(Port, TheSecondOfACard) {
    EXPECT_THAT(unusual_after([](const auto& port) { port.count("symbol_error", 8); }, "mlx5_3:2"),
                ElementsAre("mlx5_3:2: 1 symbol error during the run"));
}

TEST(Port, HasARate) {
    const MadeUpPort port("mlx5_3/ports/1");
    EXPECT_EQ(read_port("mlx5_3", port.roots()).port.gbps, 400);
}

TEST(Port, OfOneThatIsNotThereNothingIsKnown) {
    const MadeUpPort port("mlx5_3/ports/1");
    for (const char* name : {"", "mlx5_4", "mlx5_3:2", "mlx5_3:x"}) {
        const PortReading nothing = read_port(name, port.roots());
        EXPECT_THAT(unusual_of_port(name, nothing, nothing), IsEmpty()) << name;
        EXPECT_EQ(nothing.port, HcaPort{}) << name;
    }
}

}  // namespace
}  // namespace distgpu::scaling
