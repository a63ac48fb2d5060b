// The administrator's line in plugstack.conf: what counts, what is ignored aloud.
#include "slurm/plugstack_arguments.h"

#include "mapping/binding/binding.h"
#include "mapping/frameworks/framework.h"

#include <gtest/gtest.h>

namespace distgpu {
namespace {

using Form = MasterAddress::Form;
using Arguments = std::vector<const char*>;

TEST(PlugstackArguments, AreRead) {
    struct Row {
        Arguments arguments;
        PlugstackArguments expected;
    };
    const std::vector<Row> rows = {
        {{},
         {.site_switch = SiteSwitch::on, .master = {Form::address, ""}, .ports = {24608, 29343}}},
        {{"master=addr"}, {.master = MasterAddress{Form::address, ""}}},
        {{"master=name"}, {.master = MasterAddress{Form::name, ""}}},
        {{"master=suffix:-ib0"}, {.master = MasterAddress{Form::suffix, "-ib0"}}},
        {{"ports=20000-20511"}, {.ports = PortRange{20000, 20511}}},
        // The later of two counts.
        {{"master=name", "master=addr"}, {.master = MasterAddress{Form::address, ""}}},
        {{"gpus=near"}, {.gpus = GpuPolicy::near}},
        {{"gpus=isolate"}, {.gpus = GpuPolicy::isolate}},
        {{"gpus=keep"}, {.gpus = GpuPolicy::keep}},
        {{"cpus=near"}, {.cpus = BindingChoice::near}},
        {{"cpus=keep"}, {.cpus = BindingChoice::keep}},
        {{"hcas=near"}, {.hcas = BindingChoice::near}},
        {{"hcas=keep"}, {.hcas = BindingChoice::keep}},
        {{"watch=30:end"}, {.watch = Watch{.on = true, .minutes = 30, .ends_step = true}}},
        {{"fail=wait"}, {.fail = FailChoice::wait}},
        {{"fail=end"}, {.fail = FailChoice::end}},
        {{"signal=USR2@300"}, {.signal = SignalChoice{true, "USR2", 300}}},
        {{"signal=off"}, {.signal = SignalChoice{}}},
        {{"watch=on"}, {.watch = Watch{.on = true}}},
        {{"watch=off"}, {.watch = Watch{}}},
        {{"report=/r/%u/%j.%s.json"}, {.report = ReportChoice{true, "/r/%u/%j.%s.json"}}},
        {{"order=switch"}, {.order = RankOrder{RankOrder::Source::switches}}},
        {{"order=slurm"}, {.order = RankOrder{}}},
        {{"topology=/etc/distgpu/%n.xml"}, {.topology = "/etc/distgpu/%n.xml"}},
        {{"topology=/a=b"}, {.topology = "/a=b"}},
        {{"command=/opt/bin/distgpu"}, {.command = "/opt/bin/distgpu"}},
        {{"off"}, {.site_switch = SiteSwitch::refused}},
        {{"off=run"}, {.site_switch = SiteSwitch::unprepared}},
        {{"log=steps"}, {.logs_steps = true}},
        {{"save=off"}, {.saves_topology = false}},
        {{"layout=ask"}, {.asks_slurmctld = true}},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(parse_plugstack_arguments(row.arguments), row.expected)
            << testing::PrintToString(row.arguments);
    }
}

// A typing error in plugstack.conf must not stop a cluster.
TEST(PlugstackArguments, MistakesAreIgnoredWithOneComplaintEach) {
    const Error no_ports{"", "not a range of ports",
                         "give FIRST-LAST, FIRST at least 1024, 512 ports or more"};
    const Error no_form{"", "unknown value", "give addr, name or suffix:S"};
    // A typing error for a form, not where a cluster's jobs meet.
    const Error host{"", "would send every job to this one host", "give addr, name or suffix:S"};
    const Error no_policy{"", "unknown value", "give near, isolate or keep"};
    const Error no_choice{"", "unknown value", "give near or keep"};
    const Error no_fail{"", "unknown value", "give end or wait"};
    const Error no_order{"", "unknown value", "give slurm or switch"};
    const Error no_watch{"", "unknown value",
                         "give minutes from 1 to 1440, as in watch=30 or watch=30:end, or on or "
                         "off"};
    const Error no_report{"", "not a file of its own for each step",
                          "give an absolute path with %u, %j and %s, as in "
                          "report=/scratch/%u/distgpu-%j.%s.json"};
    const Error no_path{"", "not an absolute path", "give one that begins with /"};
    const Error no_off{"", "unknown value", "give off or off=run"};
    const Error no_log{"", "unknown value", "give steps"};
    struct Row {
        std::string argument;
        Error complaint;
    };
    const std::vector<Row> rows = {
        {"ports=20000", no_ports},
        {"ports", no_ports},
        {"master=", no_form},
        {"master=node01:29500", no_form},
        {"master=adr", host},
        {"gpus=all", no_policy},
        {"gpus", no_policy},
        {"cpus=isolate", no_choice},
        {"hcas=none", no_choice},
        {"fail=no", no_fail},
        {"fail", no_fail},
        {"watch=30:stop", no_watch},
        {"watch", no_watch},
        {"report=on", no_report},
        {"report=./%u/%j.%s", no_report},
        {"report=/r/%j.%s", no_report},
        {"report=/r/%u.%s", no_report},
        {"report=/r/%u.%j", no_report},
        {"order=./ring", no_order},
        {"topology=topology.xml", no_path},
        {"topology=", no_path},
        {"command=distgpu", no_path},
        {"command", no_path},
        {"off=ran", no_off},
        {"off=", no_off},
        {"log=jobs", no_log},
        {"log", no_log},
        {"save=on", {"", "unknown value", "give off"}},
        {"layout=derive", {"", "unknown value", "give ask"}},
    };
    for (const auto& row : rows) {
        PlugstackArguments expected;
        const bool has_value = row.argument.find('=') != std::string::npos;
        expected.ignored_arguments = {{has_value ? row.argument : row.argument + "=",
                                       row.complaint.problem, row.complaint.remedy}};
        EXPECT_EQ(parse_plugstack_arguments(Arguments{row.argument.c_str()}), expected)
            << row.argument;
    }
}

TEST(PlugstackArguments, UnknownOnesAreNamed) {
    for (const std::string argument :
         {"port=20000-29999", "MasterAddress=name", "gpu=near", "bind=none", "", "qqq", "=name"}) {
        const auto result = parse_plugstack_arguments(Arguments{argument.c_str()});
        EXPECT_EQ(result.ignored_arguments,
                  (std::vector<Error>{{argument, "unknown argument",
                                       "arguments are master=, ports=, gpus=, cpus=, hcas=, "
                                       "check=, fail=, signal=, watch=, report=, order=, "
                                       "topology=, save=, layout=, command=, log=, off"}}));
    }
}

TEST(PlugstackArguments, AMistakeDoesNotSpoilTheOthers) {
    const auto result =
        parse_plugstack_arguments(Arguments{"ports=1-2", "qqq", "master=suffix:i", "cpus=keep",
                                            "ports=30000-31000", "master=", "cpus=far"});
    EXPECT_EQ(result.master, (MasterAddress{Form::suffix, "i"}));
    EXPECT_EQ(result.ports, (PortRange{30000, 31000}));
    EXPECT_EQ(result.cpus, BindingChoice::keep);
    EXPECT_EQ(result.ignored_arguments.size(), 4U);
    EXPECT_EQ(ignored_argument_message({"gpus=all", "unknown value", "give near"}),
              "distgpu: plugstack.conf: gpus=all: unknown value; give near; ignored");
}

TEST(ApplyDefaults, FillWhatTheUserLeftOpen) {
    PlugstackArguments site;
    site.gpus = GpuPolicy::isolate;
    site.cpus = BindingChoice::keep;
    site.hcas = BindingChoice::keep;
    site.signal = SignalChoice{true};
    Request silent;
    apply_defaults(silent, site);
    EXPECT_EQ(silent.signal, SignalChoice{true});
    EXPECT_EQ(silent.gpus, GpuPolicy::isolate);
    EXPECT_EQ(silent.cpus, BindingChoice::keep);
    EXPECT_EQ(silent.hcas, BindingChoice::keep);
    Request outspoken;
    outspoken.gpus = GpuPolicy::near;
    outspoken.cpus = BindingChoice::near;
    outspoken.hcas = BindingChoice::near;
    outspoken.signal = SignalChoice{};
    const Request before = outspoken;
    apply_defaults(outspoken, site);
    EXPECT_EQ(outspoken, before);
    Request bind_none;
    bind_none.keep_all = true;
    bind_none.signal = SignalChoice{};
    Request after = bind_none;
    apply_defaults(after, site);
    EXPECT_EQ(after, bind_none);
    // An explicit cpus=near would win over --cpu-bind.
    site.cpus = BindingChoice::near;
    Request near_by_default;
    apply_defaults(near_by_default, site);
    EXPECT_EQ(near_by_default.cpus, std::nullopt);
}

TEST(ApplyDefaults, ServersAreNotWatchedForHangs) {
    PlugstackArguments site;
    site.watch = Watch{.on = true, .minutes = 30, .ends_step = true};
    Request training;
    training.framework = find_framework("pytorch");
    apply_defaults(training, site);
    EXPECT_EQ(training.watch, site.watch);
    Request server;
    server.framework = find_framework("vllm");
    apply_defaults(server, site);
    EXPECT_EQ(watch_of(server).minutes, 0U);
    EXPECT_TRUE(watch_of(server).on);
    Request unwatched = training;
    unwatched.watch = Watch{};
    apply_defaults(unwatched, site);
    EXPECT_EQ(unwatched.watch, Watch{});
}

TEST(SwitchedOffError, SaysWhetherTheStepRuns) {
    EXPECT_EQ(switched_off_error(SiteSwitch::refused, "pytorch", "on n1").message(),
              "distgpu: --distgpu=pytorch: switched off on n1 by the administrator; start the step "
              "again when distgpu is back on, or set the ranks yourself and omit --distgpu");
    EXPECT_EQ(switched_off_error(SiteSwitch::unprepared, "pytorch", "on n1").message(),
              "distgpu: --distgpu=pytorch: switched off on n1 by the administrator, so the step "
              "runs without it; unless the program finds its ranks itself, each task trains alone");
}

}  // namespace
}  // namespace distgpu
