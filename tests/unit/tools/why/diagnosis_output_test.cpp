// A diagnosis as text and as JSON.
#include "why/diagnosis_output.h"

#include "tools/why/made_up_looks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace distgpu {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Diagnosis one_astray() {
    NodeLook look = made_up_look("n1", 0,
                                 {{.stack = waiting()},
                                  {.stack = astray(), .channel = "hrtimer_nanosleep"},
                                  {.stack = waiting()}});
    look.problem = "distgpu: eu-stack: not found";
    look.processes[1].command = "python3 data.py";
    look.processes[1].connections = {{"10.77.1.1:29500", 0, 12}, {"10.77.1.2:41000", 0, 0}};
    return diagnose({look}, {"n2", "n3"}, 3);
}

TEST(DiagnosisText, HasFindingsTableTreeAndWhatWasNotSeen) {
    EXPECT_EQ(diagnosis_text("5.0", one_astray(), false),
              R"(step 5.0: 3 ranks on 3 nodes, looked at for 3.0 s

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
    NodeLook first = made_up_look("n1", 0, {{.stack = waiting()}});
    first.nccl = "NCCL version 2.28.9\n\nErrors\n";
    first.records = {"/home/u/run7/distgpu-5.0-rank_0"};
    NodeLook second = made_up_look("n2", 1, {{.stack = waiting()}});
    second.records = {"/home/u/run7/distgpu-5.0-rank_1", "/tmp/trace10"};
    const Diagnosis diagnosis = diagnose({first, second}, {}, 2);
    const std::string text = diagnosis_text("5.0", diagnosis, false);
    EXPECT_THAT(text, HasSubstr("\nNCCL says of the job:\n  NCCL version 2.28.9\n\n  Errors\n"));
    EXPECT_THAT(text, HasSubstr("\ntorch's flight recorder wrote 2 files: torchfrtrace "
                                "/home/u/run7/ --prefix distgpu-5.0-rank_\n"));
    EXPECT_THAT(text, HasSubstr("\ntorch's flight recorder wrote 1 file: torchfrtrace /tmp/ "
                                "--prefix trace\n"));
    const json parsed = json::parse(diagnosis_json("5.0", diagnosis));
    EXPECT_EQ(parsed["nccl"], first.nccl);
    EXPECT_EQ(parsed["records"].size(), 3U);
    EXPECT_TRUE(json::parse(diagnosis_json("5.0", one_astray()))["nccl"].is_null());
}

TEST(DiagnosisText, HasTheGpusLoadWhereItIsKnown) {
    NodeLook look =
        made_up_look("n1", 0, {{.stack = waiting()}, {.stack = astray()}, {.stack = waiting()}});
    look.gpus = {{"0000:06:00.0", {97, 100}}, {"0000:07:00.0", {std::nullopt, 0}}};
    look.processes[0].gpus = {"0000:06:00.0"};
    look.processes[1].gpus = {"0000:07:00.0"};
    const std::string text = diagnosis_text("5.0", diagnose({look}, {}, 3), false);
    EXPECT_THAT(text, HasSubstr("  MOVED  GPUS BUSY\n"));
    EXPECT_THAT(text, HasSubstr("  no     97-100 %\n"));
    EXPECT_THAT(text, HasSubstr("  no     0 %\n"));
    EXPECT_THAT(text, HasSubstr("    GPU 0000:07:00.0 busy -, 0 %\n"));
    const json read = json::parse(diagnosis_json("5.0", diagnose({look}, {}, 3)));
    EXPECT_EQ(read["groups"][1]["gpus_busy"], json::parse(R"({"least": 97, "most": 100})"));
    EXPECT_EQ(read["details"][0]["gpus"][0]["busy"], json::parse("[null, 0]"));
}

TEST(DiagnosisText, TellsOfFourOddRanks) {
    std::vector<Doing> ranks(7, Doing{.stack = waiting()});
    for (int i = 0; i < 6; ++i) ranks.push_back({.stack = astray()});
    const Diagnosis diagnosis = diagnose({made_up_look("n1", 0, ranks)}, {}, 13);
    EXPECT_EQ(diagnosis.odd, 6U);
    EXPECT_EQ(diagnosis.details.size(), 13U);
    const std::string text = diagnosis_text("5.0", diagnosis, false);
    EXPECT_THAT(text, HasSubstr("  rank 10 on n1: process 110"));
    EXPECT_THAT(text, Not(HasSubstr("  rank 11 on n1: process")));
}

TEST(DiagnosisText, OfNoRankSaysSo) {
    EXPECT_EQ(diagnosis_text("5.0", diagnose({}, {"n1"}, 4), false),
              "step 5.0: 4 ranks on 1 node, looked at for 0.0 s\n"
              "\n"
              "no rank was seen\n"
              "\n"
              "no answer from n1\n");
}

TEST(DiagnosisText, OfUnknownPlacesHasNoTree) {
    EXPECT_EQ(diagnosis_text("5.0", diagnose({made_up_look("n1", 0, {{}})}, {}, 1), false),
              R"(step 5.0: 1 rank on 1 node, looked at for 3.0 s

nobody can tell where 1 rank is; the table shows what the kernel tells of them

  RANKS   NODES  WHERE  DOING   MOVED
  rank 0  n1     -      asleep  no
)");
}

TEST(DiagnosisText, CountsManyNodes) {
    std::vector<NodeLook> looks;
    for (std::uint32_t node = 0; node < 5; ++node) {
        looks.push_back(made_up_look("n" + std::to_string(node), node, {{.stack = waiting()}}));
    }
    EXPECT_THAT(diagnosis_text("5.0", diagnose(looks, {}, 5), false),
                HasSubstr("ranks 0-4  5 nodes  "));
}

// Only the heading of the table.
TEST(DiagnosisText, IsColouredForATerminal) {
    std::string text = diagnosis_text("5.0", one_astray(), true);
    EXPECT_THAT(text, HasSubstr("\x1b["));
    EXPECT_EQ(text.substr(0, text.find('\x1b')),
              diagnosis_text("5.0", one_astray(), false).substr(0, text.find('\x1b')));
}

TEST(DiagnosisJson, HasWhatTheTextHas) {
    json read = json::parse(diagnosis_json("5.0", one_astray()));
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
        "step": "5.0",
        "kind": "elsewhere",
        "findings": ["rank 1 on n1 is in load_batch (data.py:41), asleep, unchanged for 3.0 s; 2 ranks wait in all_reduce (train.py:88)"],
        "seconds": 3.0,
        "ranks": 3,
        "missing": [],
        "ended": [],
        "groups": [
            {"ranks": [1], "nodes": ["n1"], "where": "load_batch (data.py:41)", "activity": "asleep",
             "moved": false, "wait_channel": "hrtimer_nanosleep", "worker": null, "gpus_busy": null},
            {"ranks": [0, 2], "nodes": ["n1"], "where": "all_reduce (train.py:88)",
             "activity": "asleep", "moved": false, "wait_channel": null, "worker": null, "gpus_busy": null}],
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

TEST(DiagnosisJson, HasNullForWhatIsNotKnown) {
    const json read =
        json::parse(diagnosis_json("5.0", diagnose({made_up_look("n1", 0, {{}})}, {}, 2)));
    EXPECT_TRUE(read["groups"][0]["where"].is_null());
    EXPECT_EQ(read["stacks"], json::array());
    EXPECT_EQ(read["missing"], json::array({1}));
    EXPECT_EQ(read["kind"], "ended");
}

TEST(DiagnosisJson, NamesEachKind) {
    for (const auto& [kind, name] : std::vector<std::pair<Diagnosis::Kind, std::string>>{
             {Diagnosis::Kind::ended, "ended"},
             {Diagnosis::Kind::stopped, "stopped"},
             {Diagnosis::Kind::in_kernel, "in_kernel"},
             {Diagnosis::Kind::other_collective, "other_collective"},
             {Diagnosis::Kind::elsewhere, "elsewhere"},
             {Diagnosis::Kind::unmoved, "unmoved"},
             {Diagnosis::Kind::moving, "moving"},
             {Diagnosis::Kind::unknown, "unknown"}}) {
        EXPECT_EQ(name_of(kind), name);
    }
}

}  // namespace
}  // namespace distgpu
