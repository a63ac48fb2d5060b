// Who decides the address and the port of a step, in which order.
#include "mapping/rendezvous/rendezvous.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using Form = Master::Form;

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
    const auto result = rendezvous(request, facts, needs);
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
    request.master = Master{Form::host, "key.example"};
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
        Master master;
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
    const auto result = rendezvous(Request{}, facts, {});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message(),
              "distgpu: MASTER_ADDR=h?[2026-01-01] error: forged: not a host name or address; "
              "export the name or address of a host alone, or unset it");
    for (const char* text : {"a\",\"b", "host:29500", "two hosts", "a,b"}) {
        facts.exported_address = text;
        EXPECT_FALSE(rendezvous(Request{}, facts, {})) << text;
    }
}

TEST(RendezvousAddress, TheKeyExcusesAnExportedOneThatIsNoHost) {
    RendezvousFacts facts = all_facts();
    facts.exported_address = "two hosts";
    Request request;
    request.master = Master{Form::host, "head"};
    EXPECT_EQ(decide(request, facts), (Rendezvous{"head", 29500, PortSource::exported}));
}

TEST(RendezvousPort, TheKeyExcusesAnExportedOneThatIsNoPort) {
    RendezvousFacts facts = all_facts();
    facts.exported_port = "none";
    Request request;
    request.port = 2000;
    EXPECT_EQ(decide(request, facts), (Rendezvous{"exported.example", 2000, PortSource::key}));
}

TEST(RendezvousPort, AnExportedOneThatIsNoPortIsRefused) {
    RendezvousFacts facts = all_facts();
    facts.exported_port = "80\n";
    const auto result = rendezvous(Request{}, facts, {});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message(),
              "distgpu: MASTER_PORT=80?: not a port that a user may listen on; give a number from "
              "1024 to 65535");
}

TEST(RendezvousPort, AReservationIsTakenOnlyWhereItIsLongEnough) {
    struct Row {
        const char* title;
        std::string reserved;
        std::uint32_t needed;
        PortSource source;
        std::uint16_t port;
    };
    const std::vector<Row> rows = {
        {"just enough", "20830-20832", 3, PortSource::reserved, 20830},
        {"one too short", "20830-20832", 4, PortSource::derived, 26912},
        {"two ranges that adjoin", "20830-20832,20833-20835", 6, PortSource::reserved, 20830},
        {"a later range is long enough", "20830,20840-20842", 3, PortSource::reserved, 20840},
        {"not a list", "(null)", 1, PortSource::derived, 26912},
        {"empty", "", 1, PortSource::derived, 26912},
    };
    for (const auto& row : rows) {
        RendezvousFacts facts = all_facts();
        facts.exported_port.reset();
        facts.reserved_ports = row.reserved;
        EXPECT_EQ(decide(Request{}, facts, {"node01", row.needed, 1}),
                  (Rendezvous{"exported.example", row.port, row.source}))
            << row.title;
    }
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
    for (facts.step.job = 0; facts.step.job < 100; ++facts.step.job) {
        const auto result = decide(Request{}, facts);
        ASSERT_TRUE(result);
        EXPECT_GE(result->port, 10000);
        EXPECT_LE(result->port, 10511 - 15);
    }
}

TEST(PortSourceText, SaysWhereAUserCanChangeIt) {
    const auto source = [](PortSource from) { return source_of_port({"n1", 2000, from}); };
    EXPECT_EQ(source(PortSource::key), "port=2000");
    EXPECT_EQ(source(PortSource::exported), "the exported MASTER_PORT");
    EXPECT_EQ(source(PortSource::reserved), "Slurm's reservation (SLURM_STEP_RESV_PORTS)");
    EXPECT_EQ(source(PortSource::derived), "job and step id");
    EXPECT_EQ(taken_port_remedy(PortSource::key), "choose another with the key port=N");
    EXPECT_EQ(taken_port_remedy(PortSource::derived), "choose another with the key port=N");
    EXPECT_EQ(taken_port_remedy(PortSource::exported),
              "choose another with the key port=N, or unset MASTER_PORT");
}

}  // namespace
}  // namespace distgpu
