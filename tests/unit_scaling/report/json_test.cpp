#include "report/formats.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

using Json = nlohmann::ordered_json;

// One of everything that Results can contain, with texts and numbers that are easily corrupted.
Report full() {
    Report input;
    Results& results = input.results;
    results.backend = "mpi";
    results.started = "2026-11-21T12:00:00Z";
    results.checked = false;
    results.fingerprint = {{"zlib", "1"}, {"alpha", "\"quoted\"\n\\"}};  // not in order of names
    results.environment = {{"NCCL_DEBUG", "\u00e4\u20ac"}, {"NCCL_ALGO", "Ring"}};
    results.nodes = {{"n1", 2, {"H100 GPU-1", "H100 GPU-2"}, {"mlx5_0", ""}},
                     {"n2", 1, {}, {}, "s1.s4", "GPU 0: \"gone\""}};
    results.groups = {{Group::Kind::gpus, {0}, 2, 2},         {Group::Kind::nodes, {0, 1}, 3, 2},
                      {Group::Kind::pair, {0, 1}, 3, 0},      {Group::Kind::rail, {0, 1}, 2, 0},
                      {Group::Kind::pair_rail, {0, 1}, 2, 0}, {Group::Kind::node, {1}, 1, 0}};
    const Statistics time{0.1, 1e-9, 1.0 / 3, 0.2, 1e300, 0, 4294967295U, 0.7};
    results.measurements = {
        {1, {Collective::send_recv, DataType::bf16, true, 18446744073709551615ULL}, time},
        {3, {Collective::all_to_all, DataType::f16, false, 8}, time}};
    results.failure = Failure{"all-reduce, 1 MiB", "no answer", {"rank 5 on n2"}};
    input.efficiency = {
        {{Collective::all_reduce, DataType::f32, false, 8}, 1, {{1, 1}, {2, 0.926}}}};
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
    EXPECT_EQ(*results_from_json(to_json({}), "old.json"), Results{});
}

// The schema's keys, which scripts rely on.
TEST(ReportJson, KeysHaveTheSchemasOrder) {
    const Json json = Json::parse(to_json(full()));
    std::vector<std::string> keys;
    for (const auto& [key, value] : json.items()) keys.push_back(key);
    EXPECT_EQ(keys, (std::vector<std::string>{"schema", "complete", "failure", "backend", "note",
                                              "started", "check", "verdict", "headline", "limiters",
                                              "judgement", "fingerprint", "environment", "nodes",
                                              "groups", "measurements", "efficiency", "findings"}));
    EXPECT_EQ(json["schema"], "distgpu.scaling/1");
}

// 8 bytes in 0.1 s are 80 bytes/s; all-to-all with 2 ranks has the factor 1/2: 40 bytes/s.
TEST(ReportJson, MeasurementsHaveTheirBandwidths) {
    const Json measurement = Json::parse(to_json(full()))["measurements"][1];
    EXPECT_DOUBLE_EQ(measurement["algbw"], 80);
    EXPECT_DOUBLE_EQ(measurement["busbw"], 40);
    EXPECT_EQ(measurement["collective"], "all-to-all");
    EXPECT_EQ(measurement["in_place"], false);
}

TEST(ReportJson, DerivedValuesAreWritten) {
    const Json json = Json::parse(to_json(full()));
    EXPECT_EQ(json["efficiency"][0]["kind"], "communication");
    EXPECT_EQ(json["efficiency"][0]["subject"], "all-reduce float, 8 B");
    EXPECT_DOUBLE_EQ(json["efficiency"][0]["points"][1]["efficiency"], 0.926);
    EXPECT_EQ(json["findings"][0]["subject"], "n2/mlx5_3");
    EXPECT_EQ(json["findings"][0]["kind"], "slow port");
    EXPECT_TRUE(json["findings"][0]["robust_z"].is_null());
    EXPECT_EQ(json["findings"][0]["node"], 1);
}

TEST(ReportJson, HeadlineOrNull) {
    Report input = full();
    EXPECT_TRUE(Json::parse(to_json(input))["headline"].is_null());
    input.headline = Headline{1, 4e9, std::nullopt, 0, ExpectedBandwidth{5e9, "--expect"}};
    EXPECT_EQ(Json::parse(to_json(input))["headline"], Json::parse(R"json(
        {"measurement": 1, "busbw": 4e9, "efficiency": null, "baseline_nodes": null,
         "expected": 5e9, "expected_of": "--expect"})json"));
}

// 20 bytes/s of the 60 that were measured before.
TEST(ReportJson, TheComparisonIsWrittenButNotRead) {
    Report input = full();
    EXPECT_TRUE(Json::parse(to_json(input))["judgement"].is_null());
    input.comparison = Comparison{"old",
                                  0.5,
                                  {"driver is '1' there, '2' here"},
                                  std::vector<Change>(4),
                                  {{1, 60, 20}},
                                  {"all-reduce half, 1 KiB, 16 ranks"}};
    EXPECT_EQ(Json::parse(to_json(input))["judgement"], Json::parse(R"json(
        {"outcome": "failed", "file": "old", "tolerance": 0.5,
         "differences": ["driver is '1' there, '2' here"], "passed": 3,
         "failed": [{"measurement": 1, "busbw": 20.0, "least": 30.0}],
         "not_measured": ["all-reduce half, 1 KiB, 16 ranks"]})json"));
    const auto results = results_from_json(to_json(input), "old.json");
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(*results, input.results);
}

// Files of earlier versions lack some members, and have others.
TEST(ReportJson, OlderFilesAreRead) {
    std::string text = changed(to_json(full()), "\"judgement\": null,\n", "");
    text = changed(text, "{\"name\":\"NCCL_DEBUG\"", "{\"origin\":null,\"name\":\"NCCL_DEBUG\"");
    text = changed(text, "\"fault\":null", "\"facts\":[\"x\"]");
    text = changed(text, "\"type\":\"half\"", "\"op\":\"none\",\"type\":\"half\"");
    const auto results = results_from_json(text, "old.json");
    ASSERT_TRUE(results) << results.error().message();
    EXPECT_EQ(*results, full().results);
}

TEST(ReportJson, HostMemoryHasANote) {
    Report input = full();
    EXPECT_EQ(Json::parse(to_json(input))["note"], "host memory; not a GPU measurement");
    input.results.backend = "nccl";
    EXPECT_TRUE(Json::parse(to_json(input))["note"].is_null());
}

TEST(ReportJson, CompleteOnlyWithAVerdictAndWithoutAFailure) {
    Report input = full();
    EXPECT_EQ(Json::parse(to_json(input))["complete"], false);
    EXPECT_EQ(Json::parse(to_json(input))["failure"]["missing"][0], "rank 5 on n2");
    input.results.failure.reset();
    EXPECT_EQ(Json::parse(to_json(input))["complete"], false);  // still running
    input.verdict = "2 nodes: ...";
    EXPECT_EQ(Json::parse(to_json(input))["complete"], true);
    EXPECT_TRUE(Json::parse(to_json(input))["failure"].is_null());
}

// A file of /proc or a variable may contain any byte; the JSON must still be valid.
TEST(ReportJson, InvalidUtf8IsReplaced) {
    Report input;
    input.results.environment = {{"NCCL_X", "a\xff"}};
    EXPECT_EQ(Json::parse(to_json(input))["environment"][0]["value"], "a\ufffd");
}

TEST(ReportJson, EveryTruncatedTextIsRefused) {
    const std::string text = to_json(full());
    for (std::size_t length = 0; length + 2 < text.size(); length += 7) {
        EXPECT_EQ(problem_of(text.substr(0, length)), "not JSON, or cut short") << length;
    }
}

// Numbers become indices: one that is too high would lead beyond a vector's end.
TEST(ReportJson, WrongTextsAreRefused) {
    EXPECT_EQ(problem_of("[1]"), "not a JSON object");
    EXPECT_EQ(problem_of("{}"), "\"schema\": not a string");
    struct Row {
        std::string from;
        std::string to;
        std::string problem;
    };
    const std::vector<Row> rows{
        {"scaling/1", "scaling/2", R"("schema": not "distgpu.scaling/1")"},
        {"scaling/1", "plan/1", R"("schema": not "distgpu.scaling/1")"},
        {R"("backend")", R"("back")", R"("backend": not a string)"},
        {"send-recv", "gossip", R"("measurements[0].collective": unknown value)"},
        {R"("median":0.1)", R"("median":-0.1)",
         R"("measurements[0].time.median": not a number from 0)"},
        {R"("in_place":true)", R"("in_place":1)",
         R"("measurements[0].in_place": not true or false)"},
        {R"("time":{)", R"("time":null,"x":{)", R"("measurements[0].time": missing)"},
        {R"("gpus":["H100 GPU-1")", R"("gpus":[1)", R"("nodes[0].gpus": not a list of strings)"},
        {R"("gpus":[)", R"("gpus":1,"x":[)", R"("nodes[0].gpus": not a list)"},
        {R"("name":"NCCL_DEBUG")", R"("name":1)", R"("environment[0].name": not a string)"},
        {R"("group":3)", R"("group":6)", R"("measurements[1].group": not a whole number below 6)"},
        {R"("nodes":[0,1])", R"("nodes":[0,2])",
         R"("groups[1].nodes": not a whole number below 2)"},
        {R"("kind":"gpus")", R"("kind":"pair")", R"("groups[0].nodes": too few)"},
        {R"("nodes":[0])", R"("nodes":[])", R"("groups[0].nodes": too few)"},
        {R"("ranks":2)", R"("ranks":4294967296)",
         R"("nodes[0].ranks": not a whole number up to 4294967295)"}};
    for (const auto& [from, to, problem] : rows) {
        EXPECT_EQ(problem_of(changed(to_json(full()), from, to)), problem);
    }
}

TEST(ReadResults, NamesAMissingFile) {
    const auto results = read_results("/nonexistent/old.json");
    ASSERT_FALSE(results);
    EXPECT_EQ(results.error().message(),
              "distgpu: /nonexistent/old.json: No such file or directory; give a file that "
              "nccl-scaling --json wrote");
}

}  // namespace
}  // namespace distgpu::scaling
