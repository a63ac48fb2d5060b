// What rank 0 makes of all the reports.
#include "base/format.h"
#include "check/step_check.h"
#include "mapping/plan/plan_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

// One rank a node, with this value of a trait; empty: the node has not told it.
std::vector<Report> reports_of(const std::vector<std::string>& values) {
    std::vector<Report> reports;
    for (std::uint32_t i = 0; i < values.size(); ++i) {
        Report& report = reports.emplace_back(Report{i, i});
        if (!values[i].empty()) report.traits = {{"GPUs", values[i]}};
    }
    return reports;
}

StepLayout nodes(std::uint32_t count) {
    return plan_testing::layout(formatted("n[1-{}]", count).c_str(), {{0, count, 1, 1}});
}

// What each node is told, by its first letters: "2: message".
std::string told(const std::vector<std::string>& values) {
    std::vector<Report> reports = reports_of(values);
    compare_nodes(reports, nodes(static_cast<std::uint32_t>(values.size())));
    std::string text;
    for (const Report& report : reports) {
        for (const Finding& finding : report.findings) {
            EXPECT_TRUE(is_fatal(finding));
            text += std::to_string(report.node + 1) + ": " + finding.error.message() + "\n";
        }
    }
    return text;
}

TEST(CompareNodes, AlikeNothingIsTold) {
    EXPECT_EQ(told({"4 x A", "4 x A", "4 x A"}), "");
    EXPECT_EQ(told({"4 x A"}), "");
    EXPECT_EQ(told({"", "", ""}), "");
    EXPECT_EQ(told({"4 x A", "", "4 x A"}), "");
}

TEST(CompareNodes, TheOddNodesAreTold) {
    EXPECT_EQ(told({"4 x A", "3 x A", "4 x A", "4 x A"}),
              "2: distgpu: GPUs: 3 x A, but 3 other nodes have 4 x A; make them the same, or "
              "exclude the odd nodes with --exclude=n2\n");
    EXPECT_EQ(told({"B", "A", "A", "B", "A"}),
              "1: distgpu: GPUs: B, but 3 other nodes have A; make them the same, or exclude the "
              "odd nodes with --exclude=n[1,4]\n"
              "4: distgpu: GPUs: B, but 3 other nodes have A; make them the same, or exclude the "
              "odd nodes with --exclude=n[1,4]\n");
    // Of two the second differs from the first.
    EXPECT_EQ(
        told({"B", "A"}),
        "2: distgpu: GPUs: A, but n1 has B; make them the same, or exclude the odd nodes with "
        "--exclude=n2\n");
}

TEST(CompareNodes, AllRanksOfTheNodeHaveIt) {
    std::vector<Report> reports = reports_of({"A", "A", "B"});
    for (Report& report : reports) report.traits[0].severity = Finding::Severity::warning;
    Report second = reports[2];
    second.rank = 3;
    second.traits.clear();
    reports.push_back(second);
    compare_nodes(reports, nodes(3));
    ASSERT_EQ(reports[2].findings.size(), 1U);
    EXPECT_FALSE(is_fatal(reports[2].findings[0]));
    EXPECT_EQ(reports[3].findings, reports[2].findings);
}

// What of two ranks on each of two nodes, which were given and see these GPUs, is told.
std::string told_of_gpus(const std::vector<std::string>& given,
                         const std::vector<std::vector<std::string>>& visible) {
    std::vector<Report> reports;
    for (std::uint32_t rank = 0; rank < visible.size(); ++rank) {
        Report& report = reports.emplace_back(Report{rank, rank / 2});
        report.given_gpus = given;
        report.visible_gpus = visible[rank];
    }
    compare_visible_gpus(reports, plan_testing::layout("n[1-2]", {{0, 2, 2, 1}}));
    std::string text;
    for (const Report& report : reports) {
        for (const Finding& finding : report.findings) {
            EXPECT_TRUE(is_fatal(finding));
            text += std::to_string(report.rank) + ": " + finding.error.problem + "\n";
        }
    }
    return text;
}

TEST(CompareVisibleGpus, RanksThatHaveToShareAreTold) {
    EXPECT_EQ(told_of_gpus({"a", "b"}, {{"a", "b"}, {"a", "b"}, {"a"}, {"a"}}),
              "2: these 2 ranks of a node see only 1 GPU, but were given 2: a\n"
              "3: these 2 ranks of a node see only 1 GPU, but were given 2: a\n");
    // The same GPU of two nodes is two GPUs.
    EXPECT_EQ(told_of_gpus({"a", "b"}, {{"a"}, {"b"}, {"b"}, {"a"}}), "");
    EXPECT_EQ(told_of_gpus({"a", "b"}, {{"a", "a"}, {"a"}, {"b"}, {"a", "b"}}),
              "0: these 2 ranks of a node see only 1 GPU, but were given 2: a\n"
              "1: these 2 ranks of a node see only 1 GPU, but were given 2: a\n");
}

TEST(CompareVisibleGpus, WhoSharesByPlanIsNot) {
    EXPECT_EQ(told_of_gpus({"a"}, {{"a"}, {"a"}, {"a"}, {"a"}}), "");
    EXPECT_EQ(told_of_gpus({}, {{"a"}, {"a"}, {}, {}}), "");
    EXPECT_EQ(told_of_gpus({"a", "b"}, {{}, {}, {"a", "b"}, {"b", "a"}}), "");
}

Report report(std::uint32_t rank) {
    return {rank,
            rank / 2,
            rank % 2 == 0 ? "0-1" : "4-5",
            2,
            "eth0",
            "",
            "sockets over eth0 (no InfiniBand or RoCE)",
            "n1:2000",
            {},
            {}};
}

std::vector<Report> all() {
    return {report(0), report(1), report(2), report(3)};
}

const Checks every_check(all_checks().begin(), all_checks().end());

Verdict full_verdict_of(const std::vector<Report>& reports, const Checks& checks = every_check) {
    const StepLayout two_nodes = plan_testing::layout("n[1-2]", {{0, 2, 2, 1}});
    return compute_verdict("pytorch", two_nodes, reports, seconds(20), checks);
}

struct TextVerdict {
    std::string text;
    ExitCode code;
};

TextVerdict verdict_of(const std::vector<Report>& reports, const Checks& checks = every_check) {
    const Verdict verdict = full_verdict_of(reports, checks);
    return {verdict_text(verdict, false), verdict.code};
}

TEST(Verdict, Ready) {
    const TextVerdict verdict = verdict_of(all());
    EXPECT_EQ(verdict.code, ExitCode::done);
    EXPECT_EQ(verdict.text,
              "distgpu check: pytorch, 4 ranks on 2 nodes, rendezvous n1:2000\n"
              "\n"
              "node  ranks  CPUs     GPUs/rank  interface  InfiniBand  state\n"
              "n1    0-1    0-1,4-5  2          eth0       none        ok\n"
              "n2    2-3    0-1,4-5  2          eth0       none        ok\n"
              "\n"
              "NCCL between nodes: sockets over eth0 (no InfiniBand or RoCE)\n"
              "ready: 4 ranks on 2 nodes reach rank 0 at n1:2000\n");
    const std::string in_colours = verdict_text(full_verdict_of(all()), true);
    EXPECT_THAT(in_colours, HasSubstr("\x1b[1;32mready:\x1b[0m 4 ranks"));
    EXPECT_THAT(in_colours, HasSubstr("\n\x1b[1mnode  "));
}

TEST(Verdict, ReadyWithWarnings) {
    auto reports = all();
    for (Report& each : reports) each.findings = {warning("CPUs", "one", "more")};
    const TextVerdict verdict = verdict_of(reports);
    EXPECT_EQ(verdict.code, ExitCode::done);
    EXPECT_THAT(verdict.text, HasSubstr("\nwarning: ranks 0-3 on n[1-2]: CPUs: one; more\n"));
    EXPECT_THAT(verdict.text, EndsWith("reach rank 0 at n1:2000, 1 warning\n"));
}

TEST(Verdict, TheFirstFailureIsTheVerdict) {
    auto reports = all();
    reports[1].findings = {warning("CPUs", "one", "more")};
    reports[2].findings = {fatal("RANK", "not set", "set it")};
    reports[3].findings = {fatal("RANK", "not set", "set it"), fatal("GPU", "dead", "revive it")};
    const TextVerdict verdict = verdict_of(reports);
    EXPECT_EQ(verdict.code, ExitCode::check_failed);
    EXPECT_THAT(verdict.text, EndsWith("failed: ranks 2-3 on n2: RANK: not set; set it\n"
                                       "failed: rank 3 on n2: GPU: dead; revive it\n"
                                       "warning: rank 1 on n1: CPUs: one; more\n"
                                       "not ready: ranks 2-3 on n2: RANK: not set; set it\n"
                                       "leave out: --exclude=n2\n"));
    EXPECT_THAT(verdict.text, HasSubstr(" 2 of 2 failed\n"));
}

TEST(Verdict, MissingRanksAreATimeOut) {
    const TextVerdict verdict = verdict_of({report(0), report(2)});
    EXPECT_EQ(verdict.code, ExitCode::timed_out);
    EXPECT_THAT(verdict.text, HasSubstr("n1    0-1    0-1   2          eth0       none        1 of "
                                        "2 missing\n"));
    EXPECT_THAT(verdict.text,
                EndsWith("not ready: ranks 1,3 on n[1-2]: no report within 20 s; see their own "
                         "messages, and the state of the nodes with sinfo -N\n"));
    EXPECT_THAT(verdict.text, Not(HasSubstr("--exclude")));
    // A whole node.
    const std::string text = verdict_of({report(0), report(1)}).text;
    EXPECT_THAT(text, HasSubstr(" 2 of 2 missing\n"));
    EXPECT_THAT(text, HasSubstr("\nnot ready: ranks 2-3 on n2: no report"));
    EXPECT_THAT(text, EndsWith("\nleave out: --exclude=n2\n"));
}

TEST(Verdict, NamesInfiniBandAndTheChecksThatWereLeftOut) {
    auto reports = all();
    reports[2].ports = "mlx5_0:1 400 Gb/s";
    for (Report& each : reports) each.network = "";
    EXPECT_THAT(verdict_of(reports).text,
                AllOf(Not(HasSubstr("NCCL between nodes")), HasSubstr(" mlx5_0:1 400 Gb/s ")));
    for (Report& each : reports) each.ports = "not checked";
    EXPECT_THAT(verdict_of(reports, *choose_checks(std::nullopt, "gpus,fabric")).text,
                EndsWith("n2    2-3    0-1,4-5  2          eth0       not checked  ok\n"
                         "\n"
                         "not checked: gpus, fabric\n"
                         "ready: 4 ranks on 2 nodes reach rank 0 at n1:2000\n"));
}

TEST(Verdict, RanksMeetInOnePlace) {
    auto reports = all();
    reports[3].rendezvous = "n2:2000";
    const TextVerdict verdict = verdict_of(reports);
    EXPECT_EQ(verdict.code, ExitCode::check_failed);
    EXPECT_THAT(verdict.text,
                EndsWith("not ready: rank 3 on n2: MASTER_ADDR and MASTER_PORT: n2:2000, but rank "
                         "0 has n1:2000; export the same values on all nodes, or none\n"));
}

TEST(Verdict, ARankWithoutARendezvousContradictsNone) {
    auto reports = all();
    reports[3].rendezvous = "";
    EXPECT_EQ(verdict_of(reports).code, ExitCode::done) << verdict_of(reports).text;
    reports[0].rendezvous = "";
    const TextVerdict verdict = verdict_of(reports);
    EXPECT_EQ(verdict.code, ExitCode::done) << verdict.text;
    EXPECT_THAT(verdict.text, testing::StartsWith("distgpu check: pytorch, 4 ranks on 2 nodes, "
                                                  "rendezvous n1:2000\n"));
    for (Report& each : reports) each.rendezvous = "";
    EXPECT_THAT(verdict_of(reports).text, HasSubstr("rendezvous not known\n"));
}

TEST(Verdict, InJson) {
    auto reports = all();
    reports.pop_back();
    reports[1].findings = {fatal("port 1", "taken", "take another", "gpus")};
    const auto expected = nlohmann::json::parse(R"({
"schema": "distgpu.check/1",
"ready": false,
"mode": "pytorch",
"ranks": 4,
"rendezvous": "n1:2000",
"nodes": [{"node":"n1","ranks":[0,1],"reported":true,"state":"1 of 2 failed","cpus":"0-1,4-5","gpus_per_rank":2,"interface":"eth0","bytes_per_second_out":1.25e9,"bytes_per_second_in":1e9,"round_trip_seconds":0.0001,"ports":""},{"node":"n2","ranks":[2,3],"reported":true,"state":"1 of 2 missing","cpus":"0-1","gpus_per_rank":2,"interface":"eth0","bytes_per_second_out":null,"bytes_per_second_in":null,"round_trip_seconds":null,"ports":""}],
"findings": [{"check":"gpus","weight":"failed","ranks":[1],"object":"port 1","problem":"taken","remedy":"take another"}],
"exclude": null,
"seconds": 1.5,
"missing": [3],
"not_checked": []
})");
    Verdict verdict = full_verdict_of(reports);
    verdict.nodes[0].rates = {0, 1.25e9, 1e9, 0.0001};
    verdict.duration = std::chrono::milliseconds(1500);
    EXPECT_EQ(nlohmann::json::parse(verdict_json(verdict)), expected);
}

TEST(Verdict, ShowsWhatTheNetworkGave) {
    Verdict verdict = full_verdict_of(all());
    verdict.nodes[0].rates = {0, 1.25e9, 11.78e6, 0.0001};
    verdict.nodes[1].rates = {1, std::nullopt, 0.125e9, {}};
    EXPECT_THAT(verdict_text(verdict, false),
                HasSubstr("node  ranks  CPUs     GPUs/rank  interface  sends    receives   "
                          "InfiniBand  state\n"
                          "n1    0-1    0-1,4-5  2          eth0       10 Gb/s  94.2 Mb/s  "
                          "none        ok\n"
                          "n2    2-3    0-1,4-5  2          eth0       none     1 Gb/s     "
                          "none        ok\n"));
}

// The nodes with which the rest would be ready: what all have, or the user brought, is no node's.
TEST(Verdict, LeavesOutTheNodesAtFault) {
    const auto excluded = [](const std::vector<Report>& reports) {
        return full_verdict_of(reports).exclude.to_string();
    };
    auto reports = all();
    EXPECT_EQ(excluded(reports), "");
    reports[1].findings = {warning("CPUs", "one", "more", "cpus")};
    reports[2].findings = {fatal("RANK", "not set", "set it", "variables")};
    EXPECT_EQ(excluded(reports), "");
    reports[3].findings = {fatal("/dev/nvidia0", "dead", "revive it", "gpus")};
    EXPECT_EQ(excluded(reports), "n2");
    reports[0].findings = reports[3].findings;
    EXPECT_EQ(excluded(reports), "");
    reports[0].findings = {};
    reports[3].findings = {fatal("visible GPUs", "one for two", "look", "gpus")};
    EXPECT_EQ(excluded(reports), "");
    reports[3].findings = {fatal("plugin", "not loaded", "load it", "plugin")};
    reports[0].findings = {};
    EXPECT_EQ(excluded(reports), "n2");
}

// "fatal: PROBLEM", of two nodes.
std::string told_of(const NetworkFault& fault) {
    std::vector<Report> reports{report(0), report(2)};
    for (Report& each : reports) each.trial_address = "10.0.0.1:1";
    add_network_findings(reports, {fault}, {}, plan_testing::layout("n[1-2]", {{0, 2, 2, 1}}));
    EXPECT_TRUE(reports[0].findings.empty());
    if (reports[1].findings.size() != 1) return "";
    const Finding& finding = reports[1].findings[0];
    return (is_fatal(finding) ? "fatal: " : "warning: ") + finding.error.problem;
}

TEST(SlowLinks, AreToldWithBothNodesAndTheirInterfaces) {
    NetworkFault fault{NetworkFault::Kind::receives_slowly, 1, {0}};
    fault.rate = 6e6 / 8;
    fault.speed = 1e10 / 8;
    fault.partner_speed = 1e9 / 8;
    EXPECT_EQ(told_of(fault),
              "fatal: n2 receives 6 Mb/s from n1 over eth0 (10 Gb/s on n2, 1 Gb/s on n1)");
    fault.is_proven = false;
    EXPECT_EQ(told_of(fault),
              "warning: n2 receives 6 Mb/s from n1 over eth0 (10 Gb/s on n2, 1 Gb/s on n1), "
              "perhaps only because a node is busy");
    fault.kind = NetworkFault::Kind::sends_slowly;
    fault.partner_speed = 0;
    EXPECT_EQ(told_of(fault), "warning: n2 sends 6 Mb/s to n1 over eth0 (whose speed is unknown)");
    fault.rate = 0;
    fault.is_proven = true;
    EXPECT_EQ(told_of(fault),
              "fatal: n2 connects to n1 over eth0 (whose speed is unknown), but nothing arrives of "
              "what n2 then sends at full size");
    fault.median_rate = 1e9;
    EXPECT_EQ(told_of(fault),
              "fatal: n2 sends 0 Mb/s over eth0, where the other node sends 8 Gb/s");
}

TEST(VerdictInBrief, IsOneLineWhereAllIsWell) {
    Verdict verdict = full_verdict_of(all());
    verdict.duration = std::chrono::milliseconds(1440);
    EXPECT_EQ(verdict_brief(verdict), "distgpu: check: 4 ranks on 2 nodes ready in 1.4 s\n");
}

TEST(VerdictInBrief, TellsWhatIsWrongAndWhatToLeaveOut) {
    auto reports = all();
    reports[0].findings = {warning("CPUs", "one", "more", "cpus")};
    reports[3].findings = {fatal("/dev/nvidia0", "dead", "revive it", "gpus")};
    EXPECT_EQ(verdict_brief(full_verdict_of(reports)),
              "distgpu: check: rank 3 on n2: /dev/nvidia0: dead; revive it\n"
              "distgpu: check: warning: rank 0 on n1: CPUs: one; more\n"
              "distgpu: check: not ready, but the other nodes are: use --exclude=n2\n");
    reports.pop_back();
    EXPECT_THAT(verdict_brief(full_verdict_of(reports)),
                HasSubstr("\ndistgpu: check: rank 3 on n2: no report within 20 s; "));
}

TEST(VerdictInBrief, IsNoFlood) {
    auto reports = all();
    for (int i = 0; i < 20; ++i) {
        reports[3].findings.push_back(fatal("GPU " + std::to_string(i), "dead", ""));
    }
    const std::string text = verdict_brief(full_verdict_of(reports));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 18);
    EXPECT_THAT(text, HasSubstr("\ndistgpu: check: 4 more findings; run distgpu check in place of "
                                "the program to see all\n"));
}

TEST(RateText, IsInBits) {
    EXPECT_EQ(rate_text(0), "0 Mb/s");
    EXPECT_EQ(rate_text(11.8e6), "94.4 Mb/s");
    EXPECT_EQ(rate_text(124.9e6), "999 Mb/s");
    EXPECT_EQ(rate_text(124.99e6), "1 Gb/s");
    EXPECT_EQ(rate_text(5e10), "400 Gb/s");
}

}  // namespace
}  // namespace distgpu
