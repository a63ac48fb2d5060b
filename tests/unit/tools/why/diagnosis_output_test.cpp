// A diagnosis as text, as JSON, and as a page, which tests/integration/why.bats opens in a
// browser.
#include "tools/why/made_up_looks.h"
#include "why/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace distgpu {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const ResultHead head{"2026-01-01T00:00:00Z", "hpc", "alice", "5", "running", "5.0"};

RankGroup group_at(const std::vector<std::uint32_t>& ranks, const std::string& functions) {
    RankGroup group;
    group.ranks = ranks;
    for (const char function : functions) group.stack.push_back({std::string(1, function)});
    return group;
}

TEST(StackTree, BranchesWhereStacksDoTheFewestRanksFirst) {
    struct Case {
        const char* title;
        std::vector<RankGroup> groups;
        const char* text;
    };
    const std::vector<Case> cases{
        {"one stack is a chain", {group_at({0, 1, 2}, "ab")}, "  a\n    b  ranks 0-2\n"},
        {"the fewest ranks first",
         {group_at({0, 1, 3}, "abc"), group_at({2}, "abde"), group_at({4, 5}, "abf")},
         "  a\n    b  ranks 0-5\n      d\n        e  rank 2\n      f  ranks 4-5\n"
         "      c  ranks 0-1,3\n"},
        {"of as many by name",
         {group_at({0}, "ac"), group_at({1}, "ab")},
         "  a  ranks 0-1\n    b  rank 1\n    c  rank 0\n"},
        {"some stay where others went on",
         {group_at({0, 1}, "a"), group_at({2}, "ab")},
         "  a  ranks 0-2\n    b  rank 2\n"},
        {"groups of one place are joined",
         {group_at({0, 2}, "ab"), group_at({1}, "ab")},
         "  a\n    b  ranks 0-2\n"},
        {"several roots",
         {group_at({0, 1}, "a"), group_at({2}, "b")},
         "  b  rank 2\n  a  ranks 0-1\n"},
        {"a group without a stack is left out",
         {group_at({0}, ""), group_at({1}, "a")},
         "  a  rank 1\n"},
        {"no stack", {group_at({0}, "")}, ""},
        {"no group", {}, ""}};
    for (const Case& each : cases) EXPECT_EQ(stack_tree_text(each.groups), each.text) << each.title;
    RankGroup one = group_at({0}, "a");
    RankGroup other = group_at({1}, "a");
    one.stack[0] = {"a", "f.py", 1};
    other.stack[0] = {"a", "f.py", 2};
    EXPECT_EQ(stack_tree_text({one, other}), "  a (f.py:1)  rank 0\n  a (f.py:2)  rank 1\n");
}

Diagnosis one_astray() {
    NodeSample look = made_up_look("n1", 0,
                                   {{.stacks = {waiting()}},
                                    {.stacks = {astray()}, .channel = "hrtimer_nanosleep"},
                                    {.stacks = {waiting()}}});
    look.problem = "distgpu: eu-stack: not found";
    look.processes[1].command = "python3 data.py";
    look.processes[1].connections = {{"10.77.1.1:29500", 0, 12}, {"10.77.1.2:41000", 0, 0}};
    return diagnose({look}, {"n2", "n3"}, 3);
}

TEST(DiagnosisText, HasFindingsTableTreeAndWhatWasNotSeen) {
    EXPECT_EQ(diagnosis_text("5.0", one_astray(), false),
              R"(step 5.0: 3 ranks on 3 nodes, sampled for 3.0 s

rank 1 on n1 is in load_batch (data.py:41), asleep, unchanged for 3.0 s; 2 ranks wait in all_reduce (train.py:88)

  RANKS      NODES  WHERE                     DOING                       MOVED
  rank 1     n1     load_batch (data.py:41)   asleep (hrtimer_nanosleep)  no
  ranks 0,2  n1     all_reduce (train.py:88)  asleep                      no

  rank 1 on n1: process 101 python3 data.py
    state S in hrtimer_nanosleep, 0.00 s of CPU a second, woke 0 times
    connected to 10.77.1.1:29500 (12 bytes unread), 10.77.1.2:41000

  <module> (train.py:90)  ranks 0-2
    load_batch (data.py:41)  rank 1
    train (train.py:88)
      all_reduce (distributed_c10d.py:2810)  ranks 0,2

no answer from n2, n3

distgpu: eu-stack: not found
)");
}

TEST(DiagnosisText, HasWhatNcclSaysAndWhereTorchWrote) {
    NodeSample first = made_up_look("n1", 0, {{.stacks = {waiting()}}});
    first.nccl = "NCCL version 2.28.9\n\nErrors\n";
    first.records = {"/home/u/run7/distgpu-5.0-rank_0"};
    NodeSample second = made_up_look("n2", 1, {{.stacks = {waiting()}}});
    second.records = {"/home/u/run7/distgpu-5.0-rank_1", "/tmp/trace10"};
    const Diagnosis diagnosis = diagnose({first, second}, {}, 2);
    const std::string text = diagnosis_text("5.0", diagnosis, false);
    EXPECT_THAT(text, HasSubstr("\nNCCL status of the job:\n  NCCL version 2.28.9\n\n  Errors\n"));
    EXPECT_THAT(text, HasSubstr("\ntorch's flight recorder wrote 2 files: torchfrtrace "
                                "/home/u/run7/ --prefix distgpu-5.0-rank_\n"));
    EXPECT_THAT(text, HasSubstr("\ntorch's flight recorder wrote 1 file: torchfrtrace /tmp/ "
                                "--prefix trace\n"));
    const json parsed = json::parse(diagnosis_json(head, diagnosis));
    EXPECT_EQ(parsed["nccl"], first.nccl);
    EXPECT_EQ(parsed["records"].size(), 3U);
    EXPECT_TRUE(json::parse(diagnosis_json(head, one_astray()))["nccl"].is_null());
}

TEST(DiagnosisText, HasTheGpusLoadWhereItIsKnown) {
    NodeSample look = made_up_look(
        "n1", 0, {{.stacks = {waiting()}}, {.stacks = {astray()}}, {.stacks = {waiting()}}});
    look.gpus = {{"0000:06:00.0", {97, 100, 98, 99}}, {"0000:07:00.0", {std::nullopt, 0, 0, 0}}};
    look.processes[0].gpus = {{"0", "0000:06:00.0"}};
    look.processes[1].gpus = {{"1", "0000:07:00.0"}};
    const std::string text = diagnosis_text("5.0", diagnose({look}, {}, 3), false);
    EXPECT_THAT(text, HasSubstr("  MOVED  GPUS BUSY\n"));
    EXPECT_THAT(text, HasSubstr("  no     97-100 %\n"));
    EXPECT_THAT(text, HasSubstr("  no     0 %\n"));
    EXPECT_THAT(text, HasSubstr("    GPU 0000:07:00.0 busy -, 0, 0, 0 %\n"));
    const json read = json::parse(diagnosis_json(head, diagnose({look}, {}, 3)));
    EXPECT_EQ(read["groups"][1]["gpus_busy"], json::parse(R"({"least": 97, "most": 100})"));
    EXPECT_EQ(read["details"][0]["gpus"][0]["busy"], json::parse("[null, 0, 0, 0]"));
}

TEST(DiagnosisText, TellsOfFourOddRanks) {
    std::vector<Doing> ranks(7, Doing{.stacks = {waiting()}});
    for (int i = 0; i < 6; ++i) ranks.push_back({.stacks = {astray()}});
    const Diagnosis diagnosis = diagnose({made_up_look("n1", 0, ranks)}, {}, 13);
    EXPECT_EQ(diagnosis.outliers, 6U);
    EXPECT_EQ(diagnosis.details.size(), 13U);
    const std::string text = diagnosis_text("5.0", diagnosis, false);
    EXPECT_THAT(text, HasSubstr("  rank 10 on n1: process 110"));
    EXPECT_THAT(text, Not(HasSubstr("  rank 11 on n1: process")));
}

TEST(DiagnosisText, OfNoRankOrNoPlaceSaysSo) {
    EXPECT_EQ(diagnosis_text("5.0", diagnose({}, {"n1"}, 4), false),
              "step 5.0: 4 ranks on 1 node, sampled for 0.0 s\n"
              "\n"
              "no rank was seen\n"
              "\n"
              "no answer from n1\n");
    EXPECT_EQ(diagnosis_text("5.0", diagnose({made_up_look("n1", 0, {{}})}, {}, 1), false),
              R"(step 5.0: 1 rank on 1 node, sampled for 3.0 s

cannot tell where 1 rank is; the table shows what the kernel reports about them

  RANKS   NODES  WHERE  DOING   MOVED
  rank 0  n1     -      asleep  no
)");
}

TEST(DiagnosisText, HasStragglersAndWhatTheGroupsDid) {
    const std::vector<double> times{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const Doing computes{.stacks = {astray()}, .states = "R", .work = used_cpu(8)};
    const Doing reads{.stacks = {waiting()}, .call = "futex"};
    const Diagnosis diagnosis =
        diagnose({made_up_look("n1", 0, {computes, reads, reads}, times)}, {}, 3);
    EXPECT_THAT(diagnosis_text("5.0", diagnosis, false),
                HasSubstr("\nthe others waited 100% of the time for rank 0 on n1, in load_batch "
                          "(data.py:41)\n"));
    const json read = json::parse(diagnosis_json(head, diagnosis));
    EXPECT_EQ(read["stragglers"], json::parse(R"text([{"rank": 0, "node": "n1",
        "where": "load_batch (data.py:41)", "share": 1.0}])text"));
    EXPECT_EQ(read["groups"][0]["progress"], "computing");
    EXPECT_EQ(read["groups"][0]["moved"], true);
    EXPECT_EQ(read["groups"][1]["system_call"], "futex");
    const Doing polls{.stacks = {astray()}, .work = woke(9)};
    EXPECT_EQ(json::parse(diagnosis_json(
                  head, diagnose({made_up_look("n1", 0, {polls})}, {}, 1)))["groups"][0]["polling"],
              true);
}

TEST(DiagnosisText, CountsManyNodes) {
    std::vector<NodeSample> looks;
    for (std::uint32_t node = 0; node < 5; ++node) {
        looks.push_back(made_up_look("n" + std::to_string(node), node, {{.stacks = {waiting()}}}));
    }
    EXPECT_THAT(diagnosis_text("5.0", diagnose(looks, {}, 5), false),
                HasSubstr("ranks 0-4  5 nodes  "));
    // Only the heading of the table is coloured, for a terminal.
    EXPECT_THAT(diagnosis_text("5.0", diagnose(looks, {}, 5), true), HasSubstr("\n\x1b[1m  RANKS"));
}

TEST(DiagnosisJson, HasWhatTheTextHas) {
    json read = json::parse(diagnosis_json(head, one_astray()));
    ASSERT_EQ(read["details"].size(), 3U);
    EXPECT_EQ(read["details"][0], json::parse(R"({
        "rank": 1, "node": "n1", "pid": 101, "command": "python3 data.py", "state": "S",
        "wait_channel": "hrtimer_nanosleep", "cpu": 0.0, "wakings": 0, "launchers": [],
        "children": [],
        "connections": [{"peer": "10.77.1.1:29500", "unsent": 0, "unread": 12},
                        {"peer": "10.77.1.2:41000", "unsent": 0, "unread": 0}],
        "gpus": []})"));
    read.erase("details");
    EXPECT_EQ(read, json::parse(R"text({
        "schema": "distgpu.why/1",
        "date": "2026-01-01T00:00:00Z",
        "cluster": "hpc",
        "user": "alice",
        "job": "5",
        "state": "running",
        "step": "5.0",
        "kind": "elsewhere",
        "findings": ["rank 1 on n1 is in load_batch (data.py:41), asleep, unchanged for 3.0 s; 2 ranks wait in all_reduce (train.py:88)"],
        "accused": [1],
        "stragglers": [],
        "seconds": 3.0,
        "ranks": 3,
        "missing": [],
        "ended": [],
        "groups": [
            {"ranks": [1], "nodes": ["n1"], "where": "load_batch (data.py:41)", "activity": "asleep",
             "moved": false, "progress": "none", "polling": false,
             "wait_channel": "hrtimer_nanosleep", "system_call": null, "worker": null,
             "gpus_busy": null},
            {"ranks": [0, 2], "nodes": ["n1"], "where": "all_reduce (train.py:88)",
             "activity": "asleep", "moved": false, "progress": "none", "polling": false,
             "wait_channel": null, "system_call": null, "worker": null, "gpus_busy": null}],
        "stacks": [
            {"frames": [{"function": "<module>", "file": "/home/u/train.py", "line": 90}],
             "ranks": [0, 1, 2],
             "children": [
                 {"frames": [{"function": "load_batch", "file": "/home/u/data.py", "line": 41}],
                  "ranks": [1], "children": []},
                 {"frames": [{"function": "train", "file": "/home/u/train.py", "line": 88},
                             {"function": "all_reduce",
                              "file": "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py",
                              "line": 2810}],
                  "ranks": [0, 2], "children": []}]}],
        "nccl": null,
        "records": [],
        "silent": ["n2", "n3"],
        "notes": ["distgpu: eu-stack: not found"]
})text"));
}

TEST(DiagnosisJson, HasNullForWhatIsNotKnownAndNamesEachKind) {
    const json read =
        json::parse(diagnosis_json(head, diagnose({made_up_look("n1", 0, {{}})}, {}, 2)));
    EXPECT_TRUE(read["groups"][0]["where"].is_null());
    EXPECT_EQ(read["stacks"], json::array());
    EXPECT_EQ(read["missing"], json::array({1}));
    EXPECT_EQ(read["kind"], "unknown");
    std::string names;
    for (int kind = 0; kind < 9; ++kind) {
        names.append(name_of(static_cast<Diagnosis::Kind>(kind))) += ' ';
    }
    EXPECT_EQ(
        names,
        "ended stopped in_kernel other_collective elsewhere shared_rank unmoved moving unknown ");
}

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++found;
    return found;
}

TEST(DiagnosisPage, HasWhatTheTextHas) {
    const std::string page = diagnosis_page(head, one_astray());
    EXPECT_THAT(page, HasSubstr("<title>step 5.0</title>"));
    EXPECT_THAT(page, HasSubstr("<p class=\"faint\">3 ranks on 3 nodes, sampled for 3.0 s</p>"));
    EXPECT_THAT(page, HasSubstr("<p class=\"finding\">rank 1 on n1 is in load_batch"));
    EXPECT_THAT(page, HasSubstr("<td data-of=\"RANKS\">ranks 0,<wbr>2</td>"));
    EXPECT_THAT(page, HasSubstr("<summary>rank 1 on n1: process 101 python3 data.py</summary>"));
    EXPECT_THAT(page, HasSubstr("<summary>ranks 0,2: <code>all_reduce (distributed_c10d.py:2810)"));
    EXPECT_THAT(page, HasSubstr("<p>no answer from n2, n3</p>"));
    EXPECT_THAT(page, HasSubstr("<p>distgpu: eu-stack: not found</p>"));
    EXPECT_EQ(count(page, "<details"), count(page, "</details>"));
    // The smallest groups first.
    EXPECT_LT(page.find("<summary>rank 1: "), page.find("<summary>ranks 0,2: "));
    EXPECT_THAT(page, HasSubstr("<p class=\"faint\">job 5 of alice on cluster hpc, "
                                "2026-01-01T00:00:00Z</p>"));
    const std::string empty = diagnosis_page(head, diagnose({}, {"n1"}, 4));
    EXPECT_THAT(empty, AllOf(HasSubstr("no rank was seen"), Not(HasSubstr("<table>"))));
}

TEST(DiagnosisPage, IsGreenWhereNothingHangs) {
    Diagnosis diagnosis = one_astray();
    diagnosis.findings = {"nothing hangs"};
    diagnosis.kind = Diagnosis::Kind::moving;
    EXPECT_THAT(diagnosis_page(head, diagnosis),
                HasSubstr("<p class=\"finding good\">nothing hangs</p>"));
}

TEST(DiagnosisPage, OfAJobThatDoesNotRunHasASentence) {
    Diagnosis diagnosis;
    diagnosis.findings = {"job 5 has not started"};
    ResultHead pending = head;
    pending.step = "";
    const std::string page = diagnosis_page(pending, diagnosis);
    EXPECT_THAT(page, AllOf(HasSubstr("<title>job 5</title>"),
                            HasSubstr("<p class=\"finding\">job 5 has not started</p>"),
                            Not(HasSubstr("sampled for"))));
    EXPECT_TRUE(json::parse(diagnosis_json(pending, diagnosis))["step"].is_null());
}

// Functions, files, commands and nodes are named by whoever wrote the program.
TEST(DiagnosisPage, TakesNamesForText) {
    const std::string evil = "<script>alert(1)</script>\"'&<img src=x onerror=y>";
    NodeSample look = made_up_look(evil, 0, {{.stacks = {waiting()}}, {.channel = evil}});
    look.stacks[0].push_back({evil, evil, 1});
    look.problem = evil;
    for (ProcessSample& process : look.processes) process.command = evil;
    add_process(look, 50, {}).name = evil;
    look.processes[1].parent = 50;
    look.processes[1].connections = {{evil, 1, 1}};
    const std::string page =
        diagnosis_page({evil, evil, evil, evil, evil, evil}, diagnose({look}, {evil}, 2));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_GT(count(page, "&lt;script&gt;"), 10U);
    EXPECT_TRUE(std::all_of(page.begin(), page.end(),
                            [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

}  // namespace
}  // namespace distgpu
