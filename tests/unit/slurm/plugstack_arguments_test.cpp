// The administrator's line in plugstack.conf: what counts, what is ignored aloud.
#include "slurm/plugstack_arguments.h"

#include "mapping/binding/gpu_policies.h"
#include "mapping/frameworks/framework.h"

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
    EXPECT_EQ(result.complaints, std::vector<Error>{});
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
        EXPECT_EQ(result.complaints, std::vector<Error>{}) << row.title;
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
        {"watch=30:end", [](auto& a) { a.watch = Watch{.on = true, .minutes = 30, .ends = true}; }},
        {"watch=on", [](auto& a) { a.watch = Watch{.on = true}; }},
        {"watch=off", [](auto& a) { a.watch = Watch{}; }},
        {"order=switch", [](auto& a) { a.order = RankOrder{RankOrder::Source::switches}; }},
        {"order=slurm", [](auto& a) { a.order = RankOrder{}; }},
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
TEST(PlugstackArguments, SwitchOffAndLog) {
    EXPECT_EQ(parse_plugstack_arguments({}).site_switch, SiteSwitch::on);
    EXPECT_FALSE(parse_plugstack_arguments({}).logs_steps);
    EXPECT_EQ(parse_plugstack_arguments(Arguments{"off"}).site_switch, SiteSwitch::refused);
    EXPECT_EQ(parse_plugstack_arguments(Arguments{"off=run"}).site_switch, SiteSwitch::unprepared);
    EXPECT_TRUE(parse_plugstack_arguments(Arguments{"log=steps"}).logs_steps);
}

TEST(PlugstackArguments, MistakesAreIgnoredWithOneComplaintEach) {
    const Error no_ports{"", "not a range of ports",
                         "give FIRST-LAST, FIRST at least 1024, 512 ports or more"};
    const Error no_form{"", "unknown value", "give addr, name or suffix:S"};
    // A typing error for a form, not where a cluster's jobs meet.
    const Error host{"", "would send every job to this one host", "give addr, name or suffix:S"};
    const Error no_policy{"", "unknown value", "give near, isolate or keep"};
    const Error no_choice{"", "unknown value", "give near or keep"};
    const Error no_order{"", "unknown value", "give slurm or switch"};
    const Error no_watch{"", "unknown value",
                         "give minutes from 1 to 1440, as in watch=30 or watch=30:end, or on or "
                         "off"};
    const Error no_path{"", "not an absolute path", "give one that begins with /"};
    const Error no_off{"", "unknown value", "give off or off=run"};
    const Error no_log{"", "unknown value", "give steps"};
    struct Row {
        const char* argument;
        const char* object;
        Error complaint;
    };
    const std::vector<Row> rows = {
        {"ports=20000", "ports=20000", no_ports},
        {"ports=", "ports=", no_ports},
        {"ports", "ports=", no_ports},
        {"master=", "master=", no_form},
        {"master=a b", "master=a b", no_form},
        {"master=suffix:", "master=suffix:", no_form},
        {"master=node01:29500", "master=node01:29500", no_form},
        {"master=adr", "master=adr", host},
        {"master=foo", "master=foo", host},
        {"master=10.0.0.1", "master=10.0.0.1", host},
        {"gpus=all", "gpus=all", no_policy},
        {"gpus", "gpus=", no_policy},
        {"cpus=isolate", "cpus=isolate", no_choice},
        {"hcas=none", "hcas=none", no_choice},
        {"watch=30:stop", "watch=30:stop", no_watch},
        {"watch", "watch=", no_watch},
        {"order=./ring", "order=./ring", no_order},
        {"order=$RING", "order=$RING", no_order},
        {"topology=topology.xml", "topology=topology.xml", no_path},
        {"topology=", "topology=", no_path},
        {"command=distgpu", "command=distgpu", no_path},
        {"command", "command=", no_path},
        {"off=ran", "off=ran", no_off},
        {"off=", "off=", no_off},
        {"log=jobs", "log=jobs", no_log},
        {"log", "log=", no_log},
    };
    for (const auto& row : rows) {
        PlugstackArguments expected;
        expected.complaints = {{row.object, row.complaint.problem, row.complaint.remedy}};
        EXPECT_EQ(parse_plugstack_arguments(Arguments{row.argument}), expected) << row.argument;
    }
}

TEST(PlugstackArguments, UnknownOnesAreNamed) {
    for (const std::string argument :
         {"port=20000-29999", "Master=name", "gpu=near", "bind=none", "", "qqq", "=name"}) {
        const auto result = parse_plugstack_arguments(Arguments{argument.c_str()});
        EXPECT_EQ(result.complaints,
                  (std::vector<Error>{{argument, "unknown argument",
                                       "arguments are master=, ports=, gpus=, cpus=, hcas=, "
                                       "check=, watch=, order=, topology=, command=, log=, off"}}));
    }
}

TEST(PlugstackArguments, AMistakeIsOneLineOfTheLog) {
    EXPECT_EQ(ignored_argument({"gpus=all", "unknown value", "give near"}),
              "distgpu: plugstack.conf: gpus=all: unknown value; give near; ignored");
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

TEST(TakeDefaults, ServersAreNotWatchedForHangs) {
    PlugstackArguments site;
    site.watch = Watch{.on = true, .minutes = 30, .ends = true};
    Request training;
    training.framework = find_framework("pytorch");
    take_defaults(training, site);
    EXPECT_EQ(training.watch, site.watch);
    Request server;
    server.framework = find_framework("vllm");
    take_defaults(server, site);
    EXPECT_EQ(watch_of(server).minutes, 0U);
    EXPECT_TRUE(watch_of(server).on);
    Request unwatched = training;
    unwatched.watch = Watch{};
    take_defaults(unwatched, site);
    EXPECT_EQ(unwatched.watch, Watch{});
}

}  // namespace
}  // namespace distgpu
