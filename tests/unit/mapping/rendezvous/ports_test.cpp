// Which port: the administrator's range, Slurm's reservation, the derived one.
#include "mapping/rendezvous/rendezvous.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace distgpu {
namespace {

// On these a service of a node or of a management host listens (IANA's
// registry): RabbitMQ, CockroachDB, MongoDB.
constexpr std::array<std::uint32_t, 5> services{25672, 26257, 27017, 27018, 27019};
constexpr std::uint32_t first_ephemeral_port = 32768;

std::uint32_t port_of(StepId step, std::uint32_t room = 9, PortRange range = default_ports) {
    return derived_port(step, range, room);
}

TEST(ParsePortRange, ReadsFirstAndLast) {
    struct Row {
        const char* title;
        std::string text;
        PortRange range;
    };
    const std::vector<Row> rows = {
        {"the default", "24608-29343", {24608, 29343}},
        {"512 ports from the first that users may take", "1024-1535", {1024, 1535}},
        {"the last 512 ports", "65024-65535", {65024, 65535}},
        {"everything", "1024-65535", {1024, 65535}},
    };
    for (const auto& row : rows) {
        const auto range = parse_port_range(row.text);
        ASSERT_TRUE(range) << row.title;
        EXPECT_EQ(*range, row.range) << row.title;
    }
}

TEST(ParsePortRange, RefusesEverythingElse) {
    struct Row {
        const char* title;
        std::string text;
        std::string quoted;
    };
    const std::vector<Row> rows = {
        {"nothing", "", ""},
        {"511 ports", "20000-20510", "20000-20510"},
        {"privileged ports", "1023-2000", "1023-2000"},
        {"one port", "20000", "20000"},
        {"no last port", "20000-", "20000-"},
        {"no first port", "-30000", "-30000"},
        {"the last before the first", "30000-20000", "30000-20000"},
        {"past the last port", "65000-65536", "65000-65536"},
        {"two hyphens", "20000--30000", "20000--30000"},
        {"a blank", "20000 -30000", "20000 -30000"},
        {"a comma after it", "20000-30000,", "20000-30000,"},
        {"two ranges", "20000-21000,22000-23000", "20000-21000,22000-23000"},
        {"a control character", "20000-30000\n", "20000-30000?"},
    };
    for (const auto& row : rows) {
        const auto range = parse_port_range(row.text);
        ASSERT_FALSE(range) << row.title;
        EXPECT_EQ(range.error().message(),
                  "distgpu: ports=" + row.quoted +
                      ": not a range of ports; give FIRST-LAST, FIRST at least 1024, 512 ports or "
                      "more")
            << row.title;
    }
}

TEST(FirstContiguousPort, FindsAStretchThatIsLongEnough) {
    struct Row {
        const char* title;
        std::string list;
        std::uint32_t needed;
        std::optional<std::uint16_t> port;
    };
    const std::vector<Row> rows = {
        {"one port", "20830", 1, 20830},
        {"one port, two needed", "20830", 2, std::nullopt},
        {"a range that is just enough", "20830-20832", 3, 20830},
        {"a range that is one short", "20830-20832", 4, std::nullopt},
        {"the second range is the first that is enough", "20830-20831,20840-20845", 3, 20840},
        {"ranges that adjoin are one stretch", "20830-20832,20833-20835", 6, 20830},
        {"single ports that adjoin", "20830,20831,20832", 3, 20830},
        {"a stretch after a gap", "20828,20830,20831-20832", 3, 20830},
        {"ranges that adjoin the other way round do not", "20833-20835,20830-20832", 6,
         std::nullopt},
        {"the last port", "65534,65535", 2, 65534},
        {"nothing reserved", "", 1, std::nullopt},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(first_contiguous_port(row.list, row.needed), row.port) << row.title;
    }
}

TEST(FirstContiguousPort, FindsNothingInTextThatIsNoList) {
    for (const char* text :
         {",", "20830,", ",20830", "20830,,20832", "20830-", "-20830", "20832-20830", "20830 ",
          "(null)", "65536", "20830-65536", "n[1-2]", "20830,x", "0", "0-10"}) {
        EXPECT_EQ(first_contiguous_port(text, 1), std::nullopt) << text;
    }
}

// 181 * 4242 = 767802 leaves 142 in 293 slots. Slots 66 (RabbitMQ) and 103
// (CockroachDB) lie before it, so it is slot 144 of all: 24608 + 144 * 16.
TEST(DerivedPort, WorkedExample) {
    EXPECT_EQ(port_of({4242, 0, 0}), 26912U);
}

TEST(DerivedPort, StaysInTheRangeBelowEphemeralPortsAndOffServices) {
    EXPECT_LT(default_ports.last, first_ephemeral_port);
    for (std::uint32_t job = 0; job < 3000; ++job) {
        for (const std::uint32_t room : {1U, 9U, 16U, 17U, 64U, 129U}) {
            const std::uint32_t port = port_of({job, job % 7, 0}, room);
            ASSERT_GE(port, default_ports.first) << job;
            ASSERT_LE(port + room - 1, default_ports.last) << job << ", room " << room;
            for (const std::uint32_t service : services) {
                ASSERT_FALSE(port <= service && service < port + room)
                    << service << " lies in the room of " << port;
            }
        }
    }
}

TEST(DerivedPort, RoomsOfTwoPortsNeverOverlap) {
    for (const std::uint32_t room : {1U, 9U, 16U, 17U, 32U, 33U, 100U}) {
        std::set<std::uint32_t> ports;
        for (std::uint32_t job = 0; job < 600; ++job) ports.insert(port_of({job, 0, 0}, room));
        std::uint32_t free_from = 0;
        for (const std::uint32_t port : ports) {
            EXPECT_GE(port, free_from) << "room " << room;
            free_from = port + room;
        }
    }
}

TEST(DerivedPort, AllSlotsAreDealtEquallyOften) {
    std::set<std::uint32_t> ports;
    for (std::uint32_t job = 1000; job < 1293; ++job) ports.insert(port_of({job, 0, 0}));
    EXPECT_EQ(ports.size(), 293U);
}

TEST(DerivedPort, StepsOfOneJobNeverMeet) {
    for (const std::uint32_t job : {0U, 1U, 4242U, 67108863U, UINT32_MAX}) {
        std::set<std::uint32_t> ports;
        for (std::uint32_t step = 0; step <= 100; ++step) ports.insert(port_of({job, step, 0}));
        EXPECT_EQ(ports.size(), 101U) << "job " << job;
    }
}

TEST(DerivedPort, NeighbouringJobsNeverMeetInTheirFirst100Steps) {
    for (std::uint32_t job = 4000; job < 4300; ++job) {
        std::set<std::uint32_t> ports;
        for (std::uint32_t step = 0; step < 100; ++step) {
            ports.insert(port_of({job, step, 0}));
            ports.insert(port_of({job + 1, step, 0}));
        }
        ASSERT_EQ(ports.size(), 200U) << "job " << job;
    }
}

TEST(DerivedPort, ARequeuedJobMovesOn) {
    std::set<std::uint32_t> ports;
    for (std::uint32_t restart = 0; restart < 293; ++restart) {
        ports.insert(port_of({4242, 0, restart}));
    }
    EXPECT_EQ(ports.size(), 293U);
}

// The administrator's range may have any number of slots, also a multiple of a
// factor of the hash: from 32 slots (512 ports) to 400.
TEST(DerivedPort, EveryRangeIsUsedUp) {
    for (std::uint32_t slots = 32; slots <= 400; ++slots) {
        const PortRange range{10000, static_cast<std::uint16_t>(10000 + slots * 16 - 1)};
        std::set<std::uint32_t> by_job;
        std::set<std::uint32_t> by_step;
        std::set<std::uint32_t> by_restart;
        for (std::uint32_t i = 0; i < slots; ++i) {
            by_job.insert(port_of({i, 0, 0}, 9, range));
            by_step.insert(port_of({1, i, 0}, 9, range));
            by_restart.insert(port_of({1, 0, i}, 9, range));
        }
        ASSERT_EQ(by_job.size(), slots);
        ASSERT_EQ(by_step.size(), slots);
        ASSERT_EQ(by_restart.size(), slots);
    }
}

// More tasks on a node than the range has ports.
TEST(DerivedPort, ARoomLargerThanTheRangeGetsItsFirstPort) {
    EXPECT_EQ(port_of({4242, 0, 0}, 5000), default_ports.first);
    EXPECT_EQ(port_of({4243, 1, 0}, UINT32_MAX - 16), default_ports.first);
    EXPECT_EQ(port_of({4243, 1, 0}, UINT32_MAX), default_ports.first);
}

TEST(DerivedPort, TheLastPortsThereAreCanBeDealt) {
    const PortRange last{65024, 65535};
    std::set<std::uint32_t> ports;
    for (std::uint32_t job = 0; job < 32; ++job) ports.insert(port_of({job, 0, 0}, 16, last));
    EXPECT_EQ(ports.size(), 32U);
    EXPECT_EQ(*ports.rbegin(), 65520U);
}

TEST(SparePort, IsTheLastOfTheStepsPorts) {
    const StepId step{4242, 0, 0};
    EXPECT_EQ(spare_port(step, default_ports, 9), port_of(step) + 15);
    EXPECT_EQ(spare_port(step, default_ports, 15), port_of(step, 15) + 15);
    EXPECT_EQ(spare_port(step, default_ports, 17), port_of(step, 17) + 31);
}

TEST(SparePort, IsNoneWhereAllAreNeeded) {
    for (const std::uint32_t room : {16U, 32U, 5000U, 4294967295U}) {
        EXPECT_EQ(spare_port({4242, 0, 0}, default_ports, room), std::nullopt) << room;
    }
}

}  // namespace
}  // namespace distgpu
