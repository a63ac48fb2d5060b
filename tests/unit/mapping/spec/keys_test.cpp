// The values of SPEC's keys that are read elsewhere too: master and port.
#include "mapping/rendezvous/host_port.h"
#include "mapping/request/request.h"
#include "mapping/spec/parse_spec.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {
namespace {

using Form = Master::Form;

TEST(ParseMaster, ReadsTheFourForms) {
    struct Row {
        const char* title;
        std::string text;
        Master master;
    };
    const std::vector<Row> rows = {
        {"Slurm's NodeAddr", "addr", {Form::address, ""}},
        {"Slurm's NodeName", "name", {Form::name, ""}},
        {"a suffix", "suffix:i", {Form::suffix, "i"}},
        {"a suffix with a domain", "suffix:-ib0.cluster", {Form::suffix, "-ib0.cluster"}},
        {"the suffix 'addr'", "suffix:addr", {Form::suffix, "addr"}},
        {"a host", "node01", {Form::host, "node01"}},
        {"a host that begins like a word", "addr1", {Form::host, "addr1"}},
        {"words are lower case", "ADDR", {Form::host, "ADDR"}},
        {"a full name", "Node-01_a.example.org", {Form::host, "Node-01_a.example.org"}},
        {"IPv4", "10.0.0.7", {Form::host, "10.0.0.7"}},
        {"IPv6", "fd00::1", {Form::host, "fd00::1"}},
        {"253 characters", std::string(253, 'h'), {Form::host, std::string(253, 'h')}},
    };
    for (const auto& row : rows) {
        const auto master = parse_master(row.text);
        ASSERT_TRUE(master) << row.title;
        EXPECT_EQ(*master, row.master) << row.title;
    }
}

TEST(ParseMaster, RefusesWhatIsNoHost) {
    struct Row {
        const char* title;
        std::string text;
        std::string quoted;
    };
    const std::vector<Row> rows = {
        {"nothing", "", ""},
        {"a suffix without text", "suffix:", "suffix:"},
        {"a blank", "node 01", "node 01"},
        {"a bracketed IPv6 address", "[fd00::1]", "[fd00::1]"},
        {"a host with its port", "node01:29500", "node01:29500"},
        {"an IPv6 zone", "fe80::1%eth0", "fe80::1%eth0"},
        {"a shell's remains", "$(hostname)", "$(hostname)"},
        {"a slash", "suffix:/x", "suffix:/x"},
        {"a control character", "node\n01", "node?01"},
        {"254 characters", std::string(254, 'h'), std::string(57, 'h') + "..."},
    };
    for (const auto& row : rows) {
        const auto master = parse_master(row.text);
        ASSERT_FALSE(master) << row.title;
        EXPECT_EQ(master.error().message(),
                  "distgpu: master=" + row.quoted +
                      ": not a host name or address; give addr, name, suffix:S, or a host "
                      "(its port is port=N)")
            << row.title;
    }
}

TEST(ParsePort, ReadsPortsOfOrdinaryUsers) {
    for (const std::uint32_t port : {1024U, 1025U, 29500U, 65535U}) {
        const auto read = parse_port("port", std::to_string(port));
        ASSERT_TRUE(read) << port;
        EXPECT_EQ(*read, port);
    }
    const auto padded = parse_port("port", "029500");
    ASSERT_TRUE(padded);
    EXPECT_EQ(*padded, 29500);
}

TEST(ParsePort, RefusesEverythingElse) {
    struct Row {
        const char* title;
        std::string text;
        std::string quoted;
    };
    const std::vector<Row> rows = {
        {"nothing", "", ""},
        {"the last privileged port", "1023", "1023"},
        {"one past the last port", "65536", "65536"},
        {"2^32 + 2000", "4294969296", "4294969296"},
        {"30 digits", std::string(30, '9'), std::string(30, '9')},
        {"a sign", "+29500", "+29500"},
        {"negative", "-1", "-1"},
        {"a blank before", " 29500", " 29500"},
        {"a blank after", "29500 ", "29500 "},
        {"hexadecimal", "0x7000", "0x7000"},
        {"a word", "auto", "auto"},
        {"a control character", "29500\n", "29500?"},
        {"long", std::string(5000, 'x'), std::string(57, 'x') + "..."},
    };
    for (const auto& row : rows) {
        const auto port = parse_port("MASTER_PORT", row.text);
        ASSERT_FALSE(port) << row.title;
        EXPECT_EQ(port.error().message(),
                  "distgpu: MASTER_PORT=" + row.quoted +
                      ": not a port that a user may listen on; give a number from 1024 to 65535")
            << row.title;
    }
}

TEST(SpecKeys, EachIsDocumentedOnOneLine) {
    std::set<std::string_view> names;
    for (const SpecKey& key : spec_keys()) {
        EXPECT_TRUE(names.insert(key.name).second) << key.name << " stands twice";
        EXPECT_EQ(key.name.find_first_of("=, "), std::string_view::npos) << key.name;
        EXPECT_FALSE(key.help.empty()) << key.name;
        EXPECT_EQ(key.help.find('\n'), std::string_view::npos) << key.name;
        EXPECT_NE(key.apply, nullptr) << key.name;
    }
}

}  // namespace
}  // namespace distgpu
