// The administrator's line in plugstack.conf: what counts, what is ignored aloud.
#include "plugstack_arguments.h"

#include <gtest/gtest.h>

#include <optional>
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
    EXPECT_EQ(result.gpus, nullptr);
    EXPECT_EQ(result.cpus, std::nullopt);
    EXPECT_EQ(result.hcas, std::nullopt);
    EXPECT_EQ(result.topology, "");
    EXPECT_EQ(result.command, "");
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

TEST(PlugstackArguments, ChooseWhatIsNear) {
    struct Row {
        const char* argument;
        void (*expect)(PlugstackArguments&);
    };
    const std::vector<Row> rows = {
        {"gpus=near", [](auto& a) { a.gpus = &gpu_policy::near; }},
        {"gpus=isolate", [](auto& a) { a.gpus = &gpu_policy::isolate; }},
        {"gpus=keep", [](auto& a) { a.gpus = &gpu_policy::keep; }},
        {"cpus=near", [](auto& a) { a.cpus = BindingChoice::near; }},
        {"cpus=keep", [](auto& a) { a.cpus = BindingChoice::keep; }},
        {"hcas=near", [](auto& a) { a.hcas = BindingChoice::near; }},
        {"hcas=keep", [](auto& a) { a.hcas = BindingChoice::keep; }},
        {"topology=/etc/distgpu/%n.xml", [](auto& a) { a.topology = "/etc/distgpu/%n.xml"; }},
        {"topology=/a=b", [](auto& a) { a.topology = "/a=b"; }},
        {"command=/opt/distgpu/bin/distgpu",
         [](auto& a) { a.command = "/opt/distgpu/bin/distgpu"; }},
    };
    for (const auto& row : rows) {
        PlugstackArguments expected;
        row.expect(expected);
        EXPECT_EQ(parse_plugstack_arguments(Arguments{row.argument}), expected) << row.argument;
    }
}

// A typing error in plugstack.conf must not stop a cluster.
TEST(PlugstackArguments, MistakesAreIgnoredWithOneLineEach) {
    const std::string no_ports =
        ": not a range of ports; give FIRST-LAST, FIRST at least 1024, 512 ports or more; ignored";
    const std::string no_host =
        ": not a host name or address; give addr, name, suffix:S, or a host (its port is port=N); "
        "ignored";
    const std::string no_path = ": not an absolute path; give one that begins with /; ignored";
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
        // A typing error for a form, not where a cluster's jobs meet.
        {"master=adr",
         "master=adr: would send every job to this one host; give addr, name or suffix:S; "
         "ignored"},
        {"gpus=all", "gpus=all: unknown value; give near, isolate or keep; ignored"},
        {"gpus", "gpus=: unknown value; give near, isolate or keep; ignored"},
        {"cpus=isolate", "cpus=isolate: unknown value; give near or keep; ignored"},
        {"hcas=none", "hcas=none: unknown value; give near or keep; ignored"},
        {"topology=topology.xml", "topology=topology.xml" + no_path},
        {"topology=", "topology=" + no_path},
        {"command=distgpu", "command=distgpu" + no_path},
        {"command", "command=" + no_path},
    };
    for (const auto& row : rows) {
        PlugstackArguments expected;
        expected.complaints = {"distgpu: plugstack.conf: " + row.complaint};
        EXPECT_EQ(parse_plugstack_arguments(Arguments{row.argument}), expected) << row.argument;
    }
}

TEST(PlugstackArguments, UnknownOnesAreNamed) {
    for (const std::string argument :
         {"port=20000-29999", "Master=name", "gpu=near", "bind=none", "", "qqq", "=name"}) {
        const auto result = parse_plugstack_arguments(Arguments{argument.c_str()});
        EXPECT_EQ(result.complaints,
                  std::vector<std::string>{"distgpu: plugstack.conf: " + argument +
                                           ": unknown argument; arguments are master=, ports=, "
                                           "gpus=, cpus=, hcas=, topology=, command=; ignored"});
    }
}

TEST(PlugstackArguments, AMistakeDoesNotSpoilTheOthers) {
    const auto result =
        parse_plugstack_arguments(Arguments{"ports=1-2", "qqq", "master=suffix:i", "cpus=keep",
                                            "ports=30000-31000", "master=", "cpus=far"});
    EXPECT_EQ(result.master, (Master{Form::suffix, "i"}));
    EXPECT_EQ(result.ports, (PortRange{30000, 31000}));
    EXPECT_EQ(result.cpus, BindingChoice::keep);
    EXPECT_EQ(result.complaints.size(), 4U);
}

TEST(TakeDefaults, FillWhatTheUserLeftOpen) {
    PlugstackArguments site;
    site.gpus = &gpu_policy::isolate;
    site.cpus = BindingChoice::keep;
    site.hcas = BindingChoice::keep;
    Request silent;
    take_defaults(silent, site);
    EXPECT_EQ(silent.gpus, &gpu_policy::isolate);
    EXPECT_EQ(silent.cpus, BindingChoice::keep);
    EXPECT_EQ(silent.hcas, BindingChoice::keep);
    Request outspoken;
    outspoken.gpus = &gpu_policy::near;
    outspoken.cpus = BindingChoice::near;
    outspoken.hcas = BindingChoice::near;
    const Request before = outspoken;
    take_defaults(outspoken, site);
    EXPECT_EQ(outspoken, before);
}

TEST(TakeDefaults, BindNoneLeavesNothingOpen) {
    PlugstackArguments site;
    site.gpus = &gpu_policy::isolate;
    Request request;
    request.keep_all = true;
    const Request before = request;
    take_defaults(request, site);
    EXPECT_EQ(request, before);
}

// An explicit cpus=near would win over --cpu-bind.
TEST(TakeDefaults, NearCpusAreNoChoiceOfTheUsers) {
    PlugstackArguments site;
    site.cpus = BindingChoice::near;
    Request request;
    take_defaults(request, site);
    EXPECT_EQ(request.cpus, std::nullopt);
}

}  // namespace
}  // namespace distgpu
