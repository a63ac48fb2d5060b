// The administrator's line in plugstack.conf: what counts, what is ignored aloud.
#include "plugstack_arguments.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

using Form = Master::Form;
using Arguments = std::vector<const char*>;

TEST(PlugstackArguments, DefaultsWithoutAny) {
    const auto result = parse_plugstack_arguments({});
    EXPECT_EQ(result.master, (Master{Form::address, ""}));
    EXPECT_EQ(result.ports, (PortRange{24608, 29343}));
    EXPECT_EQ(result.complaints, std::vector<std::string>{});
}

TEST(PlugstackArguments, AreRead) {
    struct Row {
        const char* title;
        Arguments arguments;
        Master master;
        PortRange ports;
    };
    const std::vector<Row> rows = {
        {"the address form", {"master=addr"}, {Form::address, ""}, default_ports},
        {"the name form", {"master=name"}, {Form::name, ""}, default_ports},
        {"a suffix", {"master=suffix:-ib0"}, {Form::suffix, "-ib0"}, default_ports},
        {"ports", {"ports=20000-20511"}, {}, {20000, 20511}},
        {"both", {"ports=20000-29999", "master=name"}, {Form::name, ""}, {20000, 29999}},
        {"the later of two", {"master=name", "master=addr"}, {Form::address, ""}, default_ports},
    };
    for (const auto& row : rows) {
        const auto result = parse_plugstack_arguments(row.arguments);
        EXPECT_EQ(result.master, row.master) << row.title;
        EXPECT_EQ(result.ports, row.ports) << row.title;
        EXPECT_EQ(result.complaints, std::vector<std::string>{}) << row.title;
    }
}

// A typing error in plugstack.conf must not stop a cluster.
TEST(PlugstackArguments, MistakesAreIgnoredWithOneLineEach) {
    const std::string no_ports =
        ": not a range of ports; give FIRST-LAST, FIRST at least 1024, 512 ports or more; ignored";
    const std::string no_host =
        ": not a host name or address; give addr, name, suffix:S, or a host (its port is port=N); "
        "ignored";
    struct Row {
        const char* argument;
        std::string complaint;
    };
    const std::vector<Row> rows = {
        {"ports=20000", "ports=20000" + no_ports},
        {"ports=", "ports=" + no_ports},
        {"ports", "ports=" + no_ports},
        {"master=", "master=" + no_host},
        {"master=a b", "master=a b" + no_host},
    };
    for (const auto& row : rows) {
        const auto result = parse_plugstack_arguments(Arguments{row.argument});
        EXPECT_EQ(result.master, Master{}) << row.argument;
        EXPECT_EQ(result.ports, default_ports) << row.argument;
        EXPECT_EQ(result.complaints,
                  std::vector<std::string>{"distgpu: plugstack.conf: " + row.complaint});
    }
}

TEST(PlugstackArguments, UnknownOnesAreNamed) {
    for (const std::string argument : {"port=20000-29999", "Master=name", "", "qqq", "=name"}) {
        const auto result = parse_plugstack_arguments(Arguments{argument.c_str()});
        ASSERT_EQ(result.complaints.size(), 1U) << argument;
        EXPECT_TRUE(result.complaints[0].starts_with("distgpu: plugstack.conf: " + argument +
                                                     ": unknown argument; arguments are "))
            << result.complaints[0];
        EXPECT_TRUE(result.complaints[0].ends_with("; ignored")) << result.complaints[0];
    }
}

TEST(PlugstackArguments, AMistakeDoesNotSpoilTheOthers) {
    const auto result = parse_plugstack_arguments(
        Arguments{"ports=1-2", "qqq", "master=suffix:i", "ports=30000-31000", "master="});
    EXPECT_EQ(result.master, (Master{Form::suffix, "i"}));
    EXPECT_EQ(result.ports, (PortRange{30000, 31000}));
    EXPECT_EQ(result.complaints.size(), 3U);
}

}  // namespace
}  // namespace distgpu
