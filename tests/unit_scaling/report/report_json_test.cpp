#include "report/report_json.h"

#include "sample_results.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

using Json = nlohmann::ordered_json;

// One of everything that Results can hold, with texts and numbers that are easily damaged.
ReportInput full() {
    ReportInput input;
    Results& results = input.results;
    results.backend = "mpi";
    results.started = "2026-11-21T12:00:00Z";
    results.check = "off";
    results.fingerprint = {{"zlib", "1"}, {"alpha", "\"quoted\"\n\\"}};  // not in order of names
    results.environment = {{"NCCL_DEBUG", "\u00e4\u20ac"}, {"NCCL_ALGO", "Ring", "/etc/nccl.conf"}};
    results.nodes = {{"n1", 2, {"H100 GPU-1", "H100 GPU-2"}, {"mlx5_0", ""}},
                     {"n2",
                      1,
                      {},
                      {},
                      "s1.s4",
                      {"GPU 0: Xid 79", "\"x\""},
                      {{2.9e12, std::nullopt, 54e9, 50e9}, {}}}};
    results.groups = {{Group::Kind::gpus, {0}, 2, 2},         {Group::Kind::nodes, {0, 1}, 3, 2},
                      {Group::Kind::pair, {0, 1}, 3, 0},      {Group::Kind::rail, {0, 1}, 2, 0},
                      {Group::Kind::pair_rail, {0, 1}, 2, 0}, {Group::Kind::node, {1}, 1, 0}};
    const Statistics time{0.1, 1e-9, 1.0 / 3, 0.2, 1e300, 0, 4294967295U, 0.7};
    results.measurements = {
        {1, Collective::send_recv, DataType::bf16, true, 18446744073709551615ULL, time},
        {3, Collective::all_to_all, DataType::i64, false, 8, time},
        {1, Collective::reduce, DataType::f32, false, 8, time, Op::max}};
    results.failure = Failure{"all-reduce, 1 MiB", "no answer", {"rank 5 on n2"}};
    input.efficiency = {{EfficiencyCurve::Kind::strong, "ResNet-50", 1, {{1, 1}, {2, 0.926}}}};
    input.fits = {{1, Collective::all_reduce, DataType::f32, {1e-5, 4e11, 0.01}}};
    input.slow_parts = {{"n2/mlx5_3", Limiter::Kind::node_rail, 0.6, std::nullopt, 1U}};
    return input;
}

std::string problem_of(const std::string& text) {
    const auto results = results_from_json(text, "old.json");
    if (results) return "none";
    EXPECT_EQ(results.error().object, "old.json");
    EXPECT_EQ(results.error().remedy, "give a file that nccl-scaling --json wrote");
    return results.error().problem;
}

// The text with the first `from` replaced.
std::string changed(std::string text, const std::string& from, const std::string& to) {
    const auto place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    return text.replace(place, from.size(), to);
}

TEST(ReportJson, ReadsBackWhatItWrote) {
    const auto results = results_from_json(to_json(full()), "old.json");
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(*results, full().results);
}

TEST(ReportJson, OrdersOfTheRanks) {
    ReportInput input = full();
    input.results.orders = {{{0, 1}, 8, {1, 0.5, 1.5}}, {{1, 0}, 2, {0.25, 0.25, 0.5}}};
    const std::string text = to_json(input);
    const Json orders = Json::parse(text)["orders"];
    EXPECT_EQ(orders["gain"], Json({{"median", 3.0}, {"p25", 2.5}, {"p75", 3.5}}));
    EXPECT_EQ(orders["name"]["crossings"], 8);
    const auto results = results_from_json(text, "old.json");
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(*results, input.results);
    EXPECT_EQ(problem_of(changed(text, "\"times\":[0.25,0.25,0.5]", "\"times\":[0.25]")),
              "\"orders.switch\": has not as many times as the other order");
    EXPECT_EQ(problem_of(changed(text, "\"times\":[0.25,0.25,0.5]", "\"times\":[0.25,0,0.5]")),
              "\"orders.switch.times\": not all are above 0");
    EXPECT_EQ(
        problem_of(changed(text, "\"nodes\":[1,0],\"crossings\"", "\"nodes\":[2],\"crossings\"")),
        "\"orders.switch.nodes\": not a whole number below 2");
}

TEST(ReportJson, NothingStaysNothing) {
    const auto results = results_from_json(to_json({}), "old.json");
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(*results, Results{});
}

// Of the sample, a whole run with 131 000 measurements.
TEST(ReportJson, ReadsBackALargeRun) {
    const ReportInput input = sample::results({.nodes = 64, .rounds = 63});
    const auto results = results_from_json(to_json(input), "old.json");
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(*results, input.results);
}

// The schema's keys, which scripts rely on.
TEST(ReportJson, KeysHaveTheSchemasOrder) {
    const Json json = Json::parse(to_json(full()));
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    EXPECT_EQ(keys,
              (std::vector<std::string>{
                  "schema",     "complete",    "failure",     "backend",  "note",   "started",
                  "check",      "verdict",     "headline",    "limiters", "step",   "judgement",
                  "orders",     "fingerprint", "environment", "nodes",    "groups", "measurements",
                  "efficiency", "fits",        "findings",    "published"}));
    EXPECT_EQ(json["schema"], "distgpu.scaling/1");
}

// 8 bytes in 0.1 s are 80 bytes/s; all-to-all of 2 ranks has factor 1/2: 40 bytes/s.
TEST(ReportJson, MeasurementsCarryTheirBandwidths) {
    const Json measurement = Json::parse(to_json(full()))["measurements"][1];
    EXPECT_DOUBLE_EQ(measurement["algbw"], 80);
    EXPECT_DOUBLE_EQ(measurement["busbw"], 40);
    EXPECT_EQ(measurement["collective"], "all-to-all");
    EXPECT_EQ(measurement["op"], "none");
    EXPECT_EQ(measurement["in_place"], false);
}

TEST(ReportJson, OneRankHasNoBusBandwidth) {
    ReportInput input = full();
    input.results.groups[3].ranks = 1;
    EXPECT_TRUE(Json::parse(to_json(input))["measurements"][1]["busbw"].is_null());
}

TEST(ReportJson, DerivedValuesAreWritten) {
    const Json json = Json::parse(to_json(full()));
    EXPECT_EQ(json["efficiency"][0]["kind"], "strong");
    EXPECT_DOUBLE_EQ(json["efficiency"][0]["points"][1]["efficiency"], 0.926);
    EXPECT_DOUBLE_EQ(json["fits"][0]["beta"], 4e11);
    EXPECT_EQ(json["findings"][0]["subject"], "n2/mlx5_3");
    EXPECT_EQ(json["findings"][0]["kind"], "slow port");
    EXPECT_TRUE(json["findings"][0]["robust_z"].is_null());
    EXPECT_EQ(json["findings"][0]["node"], 1);
}

TEST(ReportJson, TheHeadline) {
    ReportInput input = full();
    EXPECT_TRUE(Json::parse(to_json(input))["headline"].is_null());
    input.headline = Headline{1, 4e9, std::nullopt, 0, ExpectedBandwidth{5e9, "--expect"}};
    EXPECT_EQ(Json::parse(to_json(input))["headline"], Json::parse(R"json(
        {"measurement": 1, "busbw": 4e9, "efficiency": null, "baseline_nodes": null,
         "expected": 5e9, "expected_of": "--expect"})json"));
}

// 40 bytes/s were measured of the 50 that are wanted, and nothing of 16 ranks.
Judgement failed_thresholds() {
    Threshold fast{.collective = Collective::all_to_all, .bytes = 8, .ranks = 2, .bandwidth = 50};
    Threshold large{.bytes = 1024, .ranks = 16, .bandwidth = 7, .type = DataType::f16};
    large.in_place = true;
    large.group = Group::Kind::nodes;
    return {{{JudgedDemand::Kind::thresholds, "limits", 0, {{{1, 40, fast}}, {large}, 3}, {}}}};
}

TEST(ReportJson, TheJudgementIsWrittenAndDoesNotDisturbTheReader) {
    ReportInput input = full();
    EXPECT_TRUE(Json::parse(to_json(input))["judgement"].is_null());
    input.judgement = failed_thresholds();
    EXPECT_EQ(Json::parse(to_json(input))["judgement"], Json::parse(R"json(
        {"outcome": "failed", "demands": [
          {"kind": "thresholds", "file": "limits", "tolerance": null, "differences": [],
           "passed": 3,
           "failed": [{"measurement": 1, "busbw": 40.0, "least": 50.0}],
           "not_measured": [{"collective": "all-reduce", "op": null, "type": "half", "in_place": true,
                             "group": "nodes", "bytes": 1024, "ranks": 16, "least": 7.0}]}]}
    )json"));
    const auto results = results_from_json(to_json(input), "old.json");
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(*results, input.results);
}

TEST(ReportJson, ABaselineHasItsTolerance) {
    ReportInput input = full();
    input.judgement = {
        {{JudgedDemand::Kind::baseline, "old", 0.05, {{}, {}, 2}, {{"driver", "2", "1"}}}}};
    const Json judgement = Json::parse(to_json(input))["judgement"];
    EXPECT_EQ(judgement["outcome"], "passed");
    EXPECT_EQ(judgement["demands"][0]["kind"], "baseline");
    EXPECT_DOUBLE_EQ(judgement["demands"][0]["tolerance"], 0.05);
    EXPECT_EQ(judgement["demands"][0]["differences"],
              Json::array({"driver is '1' there, '2' here"}));
}

// As a file that was written before there were these members.
TEST(ReportJson, OlderFilesAreRead) {
    std::string text = changed(to_json(full()), "\"judgement\": null,\n", "");
    text = changed(text, ",\"origin\":null", "");
    text = changed(text, ",\"origin\":\"/etc/nccl.conf\"", "");
    text = changed(text, R"(,"facts":["GPU 0: Xid 79","\"x\""])", "");
    text = changed(text, "\"op\":\"max\",", "");
    text = changed(text, R"("switches":"s1.s4","rates")", R"("switches":"s1.s4","later")");
    const auto results = results_from_json(text, "old.json");
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(results->measurements[2].op, Op::sum);
    EXPECT_EQ(results->environment[1], (Variable{"NCCL_ALGO", "Ring", ""}));
    EXPECT_TRUE(results->nodes[1].facts.empty());
    EXPECT_TRUE(results->nodes[1].rates.empty());
    EXPECT_EQ(problem_of(changed(to_json(full()), "\"origin\":null", "\"origin\":1")),
              "\"environment[0].origin\": not a string");
}

TEST(ReportJson, HostMemoryIsStamped) {
    ReportInput input = full();
    EXPECT_EQ(Json::parse(to_json(input))["note"], "host memory; not a GPU measurement");
    input.results.backend = "nccl";
    EXPECT_TRUE(Json::parse(to_json(input))["note"].is_null());
}

TEST(ReportJson, CompleteOnlyWithAVerdictAndWithoutAFailure) {
    ReportInput input = full();
    EXPECT_EQ(Json::parse(to_json(input))["complete"], false);
    EXPECT_EQ(Json::parse(to_json(input))["failure"]["missing"][0], "rank 5 on n2");
    input.results.failure.reset();
    EXPECT_EQ(Json::parse(to_json(input))["complete"], false);  // it still runs
    input.verdict = "2 nodes: ...";
    EXPECT_EQ(Json::parse(to_json(input))["complete"], true);
    EXPECT_TRUE(Json::parse(to_json(input))["failure"].is_null());
}

// A file of /proc or a variable may hold any byte: the file is valid all the same.
TEST(ReportJson, TextThatIsNotUtf8IsMended) {
    ReportInput input;
    input.results.environment = {{"NCCL_X", "a\xff"}};
    EXPECT_EQ(Json::parse(to_json(input))["environment"][0]["value"], "a\ufffd");
}

TEST(ReportJson, EveryShorterTextIsRefused) {
    const std::string text = to_json(full());
    for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
        EXPECT_EQ(problem_of(text.substr(0, length)), "not JSON, or cut short") << length;
    }
}

TEST(ReportJson, WrongTextsAreRefused) {
    const std::string text = to_json(full());
    EXPECT_EQ(problem_of("[1]"), "not a JSON object");
    EXPECT_EQ(problem_of("{}"), "\"schema\": not a string");
    EXPECT_EQ(problem_of(changed(text, "scaling/1", "scaling/2")),
              "\"schema\": not \"distgpu.scaling/1\"");
    EXPECT_EQ(problem_of(changed(text, "scaling/1", "plan/1")),
              "\"schema\": not \"distgpu.scaling/1\"");
    EXPECT_EQ(problem_of(changed(text, "\"backend\"", "\"back\"")), "\"backend\": not a string");
    EXPECT_EQ(problem_of(changed(text, "send-recv", "gossip")),
              "\"measurements[0].collective\": not one of the known words");
    EXPECT_EQ(problem_of(changed(text, "\"op\":\"max\"", "\"op\":\"xor\"")),
              "\"measurements[2].op\": not one of the known words");
    EXPECT_EQ(problem_of(changed(text, "\"median\":0.1", "\"median\":-0.1")),
              "\"measurements[0].time.median\": not a number from 0");
    EXPECT_EQ(problem_of(changed(text, "\"in_place\":true", "\"in_place\":1")),
              "\"measurements[0].in_place\": not true or false");
    EXPECT_EQ(problem_of(changed(text, "\"time\":{", "\"time\":null,\"x\":{")),
              "\"measurements[0].time\": missing");
    EXPECT_EQ(problem_of(changed(text, "\"gpus\":[\"H100 GPU-1\"", "\"gpus\":[1")),
              "\"nodes[0].gpus\": not a list of strings");
    EXPECT_EQ(problem_of(changed(text, "\"gpus\":[", "\"gpus\":1,\"x\":[")),
              "\"nodes[0].gpus\": not a list");
}

// Numbers become indices: one too high would be read beyond a vector's end.
TEST(ReportJson, IndicesAreBounded) {
    const std::string text = to_json(full());
    EXPECT_EQ(problem_of(changed(text, "\"group\":3", "\"group\":6")),
              "\"measurements[1].group\": not a whole number below 6");
    EXPECT_EQ(problem_of(changed(text, "\"nodes\":[0,1]", "\"nodes\":[0,2]")),
              "\"groups[1].nodes\": not a whole number below 2");
    EXPECT_EQ(problem_of(changed(text, "\"kind\":\"gpus\",\"nodes\":[0]",
                                 "\"kind\":\"pair\",\"nodes\":[0]")),
              "\"groups[0].nodes\": too few");
    EXPECT_EQ(problem_of(changed(text, "\"nodes\":[0]", "\"nodes\":[]")),
              "\"groups[0].nodes\": too few");
    EXPECT_EQ(problem_of(changed(text, "\"ranks\":2", "\"ranks\":4294967296")),
              "\"nodes[0].ranks\": not a whole number up to 4294967295");
}

TEST(ReadResults, NamesTheFileThatIsNotThere) {
    const auto results = read_results("/nonexistent/old.json");
    ASSERT_FALSE(results);
    EXPECT_EQ(results.error().message(),
              "distgpu: /nonexistent/old.json: No such file or directory; give a file that "
              "nccl-scaling --json wrote");
}

TEST(ReadResults, ReadsAFile) {
    const std::string path = testing::TempDir() + "/report_json_test.json";
    std::ofstream(path) << to_json(full());
    const auto results = read_results(path);
    std::remove(path.c_str());
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(*results, full().results);
}

}  // namespace
}  // namespace distgpu::scaling
