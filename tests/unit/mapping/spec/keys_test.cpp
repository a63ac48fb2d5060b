// The values of SPEC's keys.
#include "mapping/message_of.h"
#include "mapping/rendezvous/rendezvous.h"
#include "mapping/spec/parse_spec.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace distgpu {
namespace {

using Form = MasterAddress::Form;

TEST(ParseMaster, ReadsTheFourForms) {
    EXPECT_EQ(*parse_master("addr"), (MasterAddress{Form::address, ""}));
    EXPECT_EQ(*parse_master("name"), (MasterAddress{Form::name, ""}));
    for (const std::string suffix : {"i", "-ib0.cluster", "addr"}) {
        EXPECT_EQ(*parse_master("suffix:" + suffix), (MasterAddress{Form::suffix, suffix}));
    }
    for (const std::string& host :
         {std::string("node01"), std::string("addr1"), std::string("ADDR"),
          std::string("Node-01_a.example.org"), std::string("10.0.0.7"), std::string("fd00::1"),
          std::string(253, 'h')}) {
        EXPECT_EQ(*parse_master(host), (MasterAddress{Form::host, host}));
    }
}

TEST(ParseMaster, RefusesWhatIsNoHost) {
    const auto expect_refused = [](const std::string& text, const std::string& quoted) {
        EXPECT_EQ(message_of(parse_master(text)),
                  "distgpu: master=" + quoted +
                      ": not a host name or address; give addr, name, suffix:S, or a host "
                      "(its port is port=N)");
    };
    for (const char* text : {"", "suffix:", "node 01", "[fd00::1]", "node01:29500", "fe80::1%eth0",
                             "$(hostname)", "suffix:/x"}) {
        expect_refused(text, text);
    }
    expect_refused("node\n01", "node?01");
    expect_refused(std::string(254, 'h'), std::string(57, 'h') + "...");
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
    const auto expect_refused = [](const std::string& text, const std::string& quoted) {
        EXPECT_EQ(message_of(parse_port("MASTER_PORT", text)),
                  "distgpu: MASTER_PORT=" + quoted +
                      ": not a port that a user may listen on; give a number from 1024 to 65535");
    };
    // 4294969296 is 2^32 + 2000.
    for (const char* text : {"", "1023", "65536", "4294969296", "999999999999999999999999999999",
                             "+29500", "-1", " 29500", "29500 ", "0x7000", "auto"}) {
        expect_refused(text, text);
    }
    expect_refused("29500\n", "29500?");
    expect_refused(std::string(5000, 'x'), std::string(57, 'x') + "...");
}

TEST(SpecKeys, EachIsDocumentedOnOneLine) {
    std::set<std::string_view> names;
    for (const SpecKey& key : spec_keys()) {
        EXPECT_TRUE(names.insert(key.name).second) << key.name.view() << " stands twice";
        EXPECT_EQ(key.name.view().find_first_of("=, "), std::string_view::npos) << key.name.view();
        EXPECT_FALSE(key.help.empty()) << key.name.view();
        EXPECT_EQ(key.help.view().find('\n'), std::string_view::npos) << key.name.view();
        EXPECT_NE(key.apply, nullptr) << key.name.view();
    }
}

TEST(BindingKeys, OtherValuesAreRefused) {
    const std::string places = ": unknown value; give near or keep";
    struct Row {
        const char* spec;
        std::string message;
    };
    const std::vector<Row> rows = {
        {"pytorch,gpus=far", "gpus=far: unknown value; give near, isolate or keep"},
        {"pytorch,gpus=", "gpus=: unknown value; give near, isolate or keep"},
        {"pytorch,gpu-ids=pci", "gpu-ids=pci: unknown value; give index or uuid"},
        {"pytorch,cpus=isolate", "cpus=isolate" + places},
        {"pytorch,hcas=mlx5_0", "hcas=mlx5_0" + places},
        {"pytorch,fail=no", "fail=no: unknown value; give end or wait"},
        {"pytorch,bind=near", "bind=near: unknown value; give none"},
        {"pytorch,gpu=near", "unknown key 'gpu'; did you mean 'gpus'?"},
        {"pytorch,hca=near", "unknown key 'hca'; did you mean 'hcas'?"},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(message_of(parse_spec("--distgpu", row.spec)),
                  std::string("distgpu: --distgpu=") + row.spec + ": " + row.message);
    }
}

TEST(FailKey, ChoosesWhetherTheStepEnds) {
    EXPECT_EQ(parse_spec("SPEC", "pytorch")->fail, std::nullopt);
    EXPECT_EQ(parse_spec("SPEC", "pytorch,fail=end")->fail, FailChoice::end);
    EXPECT_EQ(parse_spec("SPEC", "pytorch,fail=wait")->fail, FailChoice::wait);
}

TEST(SignalKey, IsASignalAndSecondsBeforeTheLimit) {
    const auto signal_of = [](const std::string& spec) {
        return parse_spec("SPEC", spec)->signal.value_or(SignalChoice{true, "none"});
    };
    EXPECT_EQ(parse_spec("SPEC", "pytorch")->signal, std::nullopt);
    EXPECT_EQ(signal_of("pytorch,signal"), (SignalChoice{true}));
    EXPECT_EQ(signal_of("pytorch,signal=on"), (SignalChoice{true}));
    EXPECT_EQ(signal_of("pytorch,signal=USR2"), (SignalChoice{true, "USR2"}));
    EXPECT_EQ(signal_of("pytorch,signal=USR2@300"), (SignalChoice{true, "USR2", 300}));
    EXPECT_EQ(signal_of("pytorch,signal=SIGTERM@10"), (SignalChoice{true, "TERM", 10}));
    EXPECT_EQ(signal_of("pytorch,signal=HUP@65535"), (SignalChoice{true, "HUP", 65535}));
    EXPECT_EQ(signal_of("pytorch,signal=off"), SignalChoice{});
    for (const std::string value :
         {"", "USR2@", "USR2@9", "USR2@0", "USR2@65536", "KILL", "KILL@300", "CONT@300",
          "B:USR2@300", "USR2@300s", "SIGSIGUSR2@300", "@300"}) {
        EXPECT_EQ(message_of(parse_signal_choice(value)),
                  "distgpu: signal=" + value +
                      ": not a signal for the ranks; give TERM, INT, HUP, USR1 or USR2, with or "
                      "without 10 to 65535 seconds before the time limit, as in "
                      "signal=USR2@300; or on, or off");
    }
}

TEST(ReportKey, IsAFile) {
    const auto report_of = [](const std::string& spec) {
        return parse_spec("SPEC", spec)->report.value_or(ReportChoice{true, "none"});
    };
    EXPECT_EQ(parse_spec("SPEC", "pytorch")->report, std::nullopt);
    EXPECT_EQ(report_of("pytorch,report"), (ReportChoice{true}));
    EXPECT_EQ(report_of("pytorch,report=on"), (ReportChoice{true}));
    EXPECT_EQ(report_of("pytorch,report=off"), ReportChoice{});
    EXPECT_EQ(report_of("pytorch,report=/a/%u/%j.%s.json"),
              (ReportChoice{true, "/a/%u/%j.%s.json"}));
    EXPECT_EQ(report_of("pytorch,report=./a"), (ReportChoice{true, "./a"}));
    EXPECT_EQ(message_of(parse_report_choice("yes")),
              "distgpu: report=yes: not the path of a file; give a file with its path (./FILE), or "
              "on, or off");
    EXPECT_EQ(message_of(parse_report_choice("/a/%d")),
              "distgpu: report=/a/%d: has a % that stands for nothing; give %j for the job, %s for "
              "the step, %u for the user, or %%");
}

std::optional<Watch> watch_in(const std::string& spec) {
    const auto request = parse_spec("SPEC", spec);
    return request ? request->watch : std::nullopt;
}

TEST(WatchKey, TakesMinutesAndWhetherTheStepEnds) {
    EXPECT_EQ(watch_in("pytorch"), std::nullopt);
    EXPECT_EQ(watch_in("pytorch,watch"), (Watch{.on = true}));
    EXPECT_EQ(watch_in("pytorch,watch="), (Watch{.on = true}));
    EXPECT_EQ(watch_in("pytorch,watch=on"), (Watch{.on = true}));
    EXPECT_EQ(watch_in("pytorch,watch=off"), Watch{});
    EXPECT_EQ(watch_in("pytorch,watch=1"), (Watch{.on = true, .minutes = 1}));
    EXPECT_EQ(watch_in("pytorch,watch=1440:end"),
              (Watch{.on = true, .minutes = 1440, .ends_step = true}));
}

TEST(WatchKey, RefusesAnythingElse) {
    for (const std::string value : {"0", "x", "1441", "30:stop", "30:", ":end", "0:end", "-1", "1m",
                                    "4294967297", "30:end:end", "on:end", " 30"}) {
        EXPECT_EQ(message_of(parse_watch(value)),
                  "distgpu: watch=" + value +
                      ": unknown value; give minutes from 1 to 1440, as in watch=30 or "
                      "watch=30:end, or on or off");
    }
}

TEST(WatchKey, IsToldAsItIsWritten) {
    for (const std::string value : {"on", "off", "1", "30:end", "1440"}) {
        EXPECT_EQ(to_string(*parse_watch(value)), value);
    }
    EXPECT_EQ(to_string(*parse_watch("30:end"), "m"), "30m:end");
}

}  // namespace
}  // namespace distgpu
