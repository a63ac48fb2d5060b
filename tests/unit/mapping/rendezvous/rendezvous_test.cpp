// Who decides the address and the port of a step, in which order.
#include "mapping/rendezvous/rendezvous.h"

#include "mapping/message_of.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace distgpu {
namespace {

using Form = MasterAddress::Form;

// Everything that can speak does; the tests silence one after the other.
RendezvousFacts all_facts() {
    RendezvousFacts facts;
    facts.step = {4242, 0, 0};
    facts.rank0_address = "10.0.0.1";
    facts.exported_address = "exported.example";
    facts.exported_port = "29500";
    facts.reserved_ports = "20830-20832";
    facts.default_master = {Form::suffix, "i"};
    return facts;
}

std::optional<Rendezvous> decide(const Request& request, const RendezvousFacts& facts,
                                 const RendezvousNeeds& needs = {"node01"}) {
    const auto result = choose_rendezvous(request, facts, needs);
    EXPECT_TRUE(result);
    return result ? std::optional(*result) : std::nullopt;
}

std::string address(const Request& request, const RendezvousFacts& facts) {
    const auto result = decide(request, facts);
    return result ? result->address : "";
}

TEST(RendezvousAddress, TheKeyWinsThenTheExportedOneThenTheDefault) {
    RendezvousFacts facts = all_facts();
    Request request;
    request.master = MasterAddress{Form::host, "key.example"};
    EXPECT_EQ(address(request, facts), "key.example");
    request.master.reset();
    EXPECT_EQ(address(request, facts), "exported.example");
    facts.exported_address.reset();
    EXPECT_EQ(address(request, facts), "node01i");
    facts.default_master = {};
    EXPECT_EQ(address(request, facts), "10.0.0.1");
    facts.rank0_address.clear();
    EXPECT_EQ(address(request, facts), "node01");
}

TEST(RendezvousAddress, EachFormOfMaster) {
    struct Row {
        const char* title;
        MasterAddress master;
        std::string address;
    };
    const std::vector<Row> rows = {
        {"NodeAddr", {Form::address, ""}, "10.0.0.1"},
        {"NodeName", {Form::name, ""}, "node01"},
        {"NodeName and a suffix", {Form::suffix, "-ib0"}, "node01-ib0"},
        {"a host as it stands", {Form::host, "fd00::1"}, "fd00::1"},
    };
    for (const auto& row : rows) {
        Request request;
        request.master = row.master;
        EXPECT_EQ(address(request, all_facts()), row.address) << "key: " << row.title;
        RendezvousFacts facts = all_facts();
        facts.exported_address.reset();
        facts.default_master = row.master;
        EXPECT_EQ(address(Request{}, facts), row.address) << "default: " << row.title;
    }
}

TEST(RendezvousPort, TheKeyWinsThenTheExportedOneThenTheReservation) {
    RendezvousFacts facts = all_facts();
    Request request;
    request.port = 2000;
    EXPECT_EQ(decide(request, facts), (Rendezvous{"exported.example", 2000, PortSource::key}));
    request.port.reset();
    EXPECT_EQ(decide(request, facts),
              (Rendezvous{"exported.example", 29500, PortSource::exported}));
    facts.exported_port.reset();
    EXPECT_EQ(decide(request, facts),
              (Rendezvous{"exported.example", 20830, PortSource::reserved}));
    facts.reserved_ports.reset();
    EXPECT_EQ(decide(request, facts), (Rendezvous{"exported.example", 26912, PortSource::derived}));
}

// It goes into TF_CONFIG and into slurmd's log as it is.
TEST(RendezvousAddress, AnExportedOneThatIsNoHostIsRefused) {
    RendezvousFacts facts = all_facts();
    facts.exported_address = "h\n[2026-01-01] error: forged";
    EXPECT_EQ(message_of(choose_rendezvous(Request{}, facts, {})),
              "distgpu: MASTER_ADDR=h?[2026-01-01] error: forged: not a host name or address; "
              "export only a host name or address, or unset it");
    for (const char* text : {"a\",\"b", "host:29500", "two hosts", "a,b"}) {
        facts.exported_address = text;
        EXPECT_FALSE(choose_rendezvous(Request{}, facts, {})) << text;
    }
    Request request;  // The key excuses it.
    request.master = MasterAddress{Form::host, "head"};
    EXPECT_EQ(decide(request, facts), (Rendezvous{"head", 29500, PortSource::exported}));
}

TEST(RendezvousPort, AnExportedOneThatIsNoPortIsRefused) {
    RendezvousFacts facts = all_facts();
    facts.exported_port = "80\n";
    EXPECT_EQ(message_of(choose_rendezvous(Request{}, facts, {})),
              "distgpu: MASTER_PORT=80?: not a port that a user may listen on; give a number from "
              "1024 to 65535");
}

TEST(RendezvousPort, AReservationIsTakenOnlyWhereItIsLongEnough) {
    const auto with_room_for = [](std::uint32_t needed, const char* reserved) {
        RendezvousFacts facts = all_facts();
        facts.exported_port.reset();
        facts.reserved_ports = reserved;
        return decide(Request{}, facts, {"node01", needed, 1});
    };
    const Rendezvous reserved{"exported.example", 20830, PortSource::reserved};
    const Rendezvous derived{"exported.example", 26912, PortSource::derived};
    EXPECT_EQ(with_room_for(3, "20830-20832"), reserved);
    EXPECT_EQ(with_room_for(4, "20830-20832"), derived);
    EXPECT_EQ(with_room_for(1, "(null)"), derived);
}

// Megatron-LM takes two ports after the master's, TensorFlow one a local task.
TEST(RendezvousPort, TheDerivedOneHasRoomForTheFrameworkAndAPortATask) {
    RendezvousFacts facts = all_facts();
    facts.exported_port.reset();
    facts.reserved_ports.reset();
    const auto sixteen = [&](std::uint32_t needed, std::uint32_t tasks) {
        const auto result = decide(Request{}, facts, {"node01", needed, tasks});
        return result && result->port == derived_port(facts.step, facts.derived_ports, 16);
    };
    EXPECT_TRUE(sixteen(1, 1));
    EXPECT_TRUE(sixteen(16, 16));
    EXPECT_FALSE(sixteen(17, 1));
    EXPECT_FALSE(sixteen(1, 17));
    EXPECT_EQ(decide(Request{}, facts, {"node01", 17, 100})->port,
              derived_port(facts.step, facts.derived_ports, 100));
}

TEST(RendezvousPort, TheAdministratorsRangeIsUsed) {
    RendezvousFacts facts = all_facts();
    facts.exported_port.reset();
    facts.reserved_ports.reset();
    facts.derived_ports = {10000, 10511};
    EXPECT_EQ(decide(Request{}, facts)->port, derived_port(facts.step, facts.derived_ports, 9));
}

TEST(PortSourceText, SaysWhereAUserCanChangeIt) {
    const auto source = [](PortSource from) { return port_source_text({"n1", 2000, from}); };
    EXPECT_EQ(source(PortSource::key), "port=2000");
    EXPECT_EQ(source(PortSource::exported), "the exported MASTER_PORT");
    EXPECT_EQ(source(PortSource::reserved), "Slurm's reservation (SLURM_STEP_RESV_PORTS)");
    EXPECT_EQ(source(PortSource::derived), "job and step id");
    EXPECT_EQ(port_in_use_remedy(PortSource::key), "choose another with the key port=N");
    EXPECT_EQ(port_in_use_remedy(PortSource::derived), "choose another with the key port=N");
    EXPECT_EQ(port_in_use_remedy(PortSource::exported),
              "choose another with the key port=N, or unset MASTER_PORT");
}

// On these RabbitMQ, CockroachDB and MongoDB listen (IANA's registry).
constexpr std::array<std::uint32_t, 5> services{25672, 26257, 27017, 27018, 27019};
constexpr std::uint32_t first_ephemeral_port = 32768;

std::uint32_t port_of(StepId step, std::uint32_t room = 9, PortRange range = default_ports) {
    return derived_port(step, range, room);
}

TEST(ParsePortRange, ReadsFirstAndLast) {
    EXPECT_EQ(*parse_port_range("24608-29343"), default_ports);
    // 512 ports, the first and the last that users may take, and everything.
    EXPECT_EQ(*parse_port_range("1024-1535"), (PortRange{1024, 1535}));
    EXPECT_EQ(*parse_port_range("65024-65535"), (PortRange{65024, 65535}));
    EXPECT_EQ(*parse_port_range("1024-65535"), (PortRange{1024, 65535}));
}

TEST(ParsePortRange, RefusesEverythingElse) {
    for (const std::string text :
         {"", "20000-20510", "1023-2000", "20000", "20000-", "-30000", "30000-20000", "65000-65536",
          "20000--30000", "20000 -30000", "20000-30000,", "20000-21000,22000-23000"}) {
        EXPECT_EQ(message_of(parse_port_range(text)),
                  "distgpu: ports=" + text +
                      ": not a range of ports; give FIRST-LAST, FIRST at least 1024, 512 ports or "
                      "more");
    }
    EXPECT_EQ(parse_port_range("20000-30000\n").error().object, "ports=20000-30000?");
}

TEST(FirstContiguousPort, FindsAStretchThatIsLongEnough) {
    EXPECT_EQ(first_contiguous_port("20830", 1), 20830);
    EXPECT_EQ(first_contiguous_port("20830", 2), std::nullopt);
    EXPECT_EQ(first_contiguous_port("20830-20832", 3), 20830);
    EXPECT_EQ(first_contiguous_port("20830-20832", 4), std::nullopt);
    EXPECT_EQ(first_contiguous_port("20830-20831,20840-20845", 3), 20840);
    // Ranges and ports that adjoin are one stretch, but not the other way round.
    EXPECT_EQ(first_contiguous_port("20830-20832,20833-20835", 6), 20830);
    EXPECT_EQ(first_contiguous_port("20830,20831,20832", 3), 20830);
    EXPECT_EQ(first_contiguous_port("20828,20830,20831-20832", 3), 20830);
    EXPECT_EQ(first_contiguous_port("20833-20835,20830-20832", 6), std::nullopt);
    EXPECT_EQ(first_contiguous_port("65534,65535", 2), 65534);
    EXPECT_EQ(first_contiguous_port("", 1), std::nullopt);
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

TEST(SparePort, IsTheLastOfTheStepsPortsUnlessAllAreNeeded) {
    const StepId step{4242, 0, 0};
    EXPECT_EQ(spare_port(step, default_ports, 9), port_of(step) + 15);
    EXPECT_EQ(spare_port(step, default_ports, 15), port_of(step, 15) + 15);
    EXPECT_EQ(spare_port(step, default_ports, 17), port_of(step, 17) + 31);
    for (const std::uint32_t room : {16U, 32U, 5000U, 4294967295U}) {
        EXPECT_EQ(spare_port(step, default_ports, room), std::nullopt) << room;
    }
}

}  // namespace
}  // namespace distgpu
