// A run against an earlier one: what both have, what is missing, in what they differ, and what is
// said of it.
#include "report/judgement.h"

#include "made_up_folder.h"
#include "made_up_results.h"
#include "report/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

using testing::HasSubstr;

// One node of two ranks, for which the factor of all-reduce is 1: 100 and 200 B/s.
Results small_run() {
    auto results = made_up_results(2, 2);
    results.backend = "nccl";
    results.fingerprint = {{"NCCL", "2.30.7"}, {"driver", "575.1"}};
    const auto group = add_nodes(results, 1);
    add_measurement(results, group, {.bytes = 100, .seconds = 1});
    add_measurement(results, group, {.bytes = 400, .seconds = 2});
    return results;
}

Judgement against_small_run(const Results& after) {
    return judge(after, {"old", small_run(), 0.05});
}

// Times of 0.5 and 2 s for what took 1 and 2 s; a size that only the later run has is no change.
TEST(Judge, EachMeasurementThatBothHave) {
    auto after = small_run();
    after.measurements[0].time.median = 0.5;
    add_measurement(after, 0, {.bytes = 800, .seconds = 1});
    const auto judgement = against_small_run(after);
    EXPECT_EQ(judgement.changes, (std::vector<Change>{{0, 100, 200}, {1, 200, 200}}));
    EXPECT_EQ(judgement.passed(), 2U);
    EXPECT_TRUE(judgement.unmeasured.empty());
    EXPECT_TRUE(judgement.differences.empty());
}

TEST(Judge, WhatOnlyTheEarlierHasIsToldOnce) {
    auto before = small_run();
    add_measurement(before, 0, {.bytes = 400, .seconds = 9});  // the first of the two counts
    auto after = small_run();
    after.measurements.pop_back();
    const auto judgement = judge(after, {"old", before, 0});
    EXPECT_EQ(judgement.changes, (std::vector<Change>{{0, 100, 100}}));
    EXPECT_EQ(judgement.unmeasured, std::vector<std::string>{"all-reduce float, 400 B, 2 ranks"});
}

// Slower than the earlier run's float out of place on one node, and of another kind each; pairs and
// rails are not compared.
TEST(Judge, TypePlacementAndKindOfGroupAreKeptApart) {
    auto after = small_run();
    add_measurement(after, 0, {.in_place = true, .bytes = 100, .seconds = 9});
    add_measurement(after, 0, {.type = DataType::f16, .bytes = 100, .seconds = 9});
    add_measurement(after, 0, {.collective = Collective::broadcast, .bytes = 100, .seconds = 9});
    for (const auto kind : {Group::Kind::gpus, Group::Kind::pair, Group::Kind::rail}) {
        const auto group = add_group(after, {.kind = kind, .nodes = {0, 1}, .ranks = 2});
        add_measurement(after, group, {.bytes = 100, .seconds = 9});
    }
    EXPECT_EQ(against_small_run(after).changes,
              (std::vector<Change>{{0, 100, 100}, {1, 200, 200}}));
    EXPECT_EQ(judge(small_run(), {"old", after, 0}).unmeasured.size(), 4U);
}

// 5 % less than 200 are 190.
TEST(Judge, WhatIsSlowerThanTheToleranceFails) {
    auto after = small_run();
    after.measurements[1].time.median = 400 / 191.0;
    EXPECT_EQ(against_small_run(after).exit_code(), ExitCode::done);
    after.measurements[1].time.median = 400 / 160.0;
    const auto judgement = against_small_run(after);
    EXPECT_EQ(judgement.exit_code(), ExitCode::check_failed);
    EXPECT_EQ(judgement_text(after, judgement),
              "# FAILED: all-reduce float, 400 B, 1 node: 1.6e-07 GB/s, 84.2 % of the 1.9e-07 that "
              "it must reach\n"
              "# baseline old, tolerance 5.0 %: 1 passed, 1 failed, 0 not measured\n");
}

// "Did the update slow us?"
TEST(Judge, AnotherLibraryIsToldAndCompared) {
    auto now = small_run();
    now.backend = "mpi";
    now.fingerprint = {{"NCCL", "2.31.0"}, {"CUDA", "13"}};
    const auto judgement = against_small_run(now);
    EXPECT_EQ(judgement.exit_code(), ExitCode::done);
    EXPECT_EQ(judgement_text(now, judgement),
              "# old: backend is 'nccl' there, 'mpi' here\n"
              "# old: NCCL is '2.30.7' there, '2.31.0' here\n"
              "# old: CUDA is missing there, '13' here\n"
              "# old: driver is '575.1' there, missing here\n"
              "# baseline old, tolerance 5.0 %: 2 passed, 0 failed, 0 not measured\n");
}

// A gate that saw nothing has not been passed.
TEST(Judge, WhereNothingWasMeasuredThatTheBaselineHasItIsSkipped) {
    auto empty = small_run();
    empty.measurements.clear();
    const auto judgement = against_small_run(empty);
    EXPECT_EQ(judgement.exit_code(), ExitCode::skipped);
    EXPECT_EQ(judgement_text(empty, judgement),
              "# not measured: all-reduce float, 100 B, 2 ranks\n"
              "# not measured: all-reduce float, 400 B, 2 ranks\n"
              "# baseline old, tolerance 5.0 %: 0 passed, 0 failed, 2 not measured\n");
}

// One node of two ranks, for which the factor of all-reduce is 1: `gbps` for 1 MB.
Results run_at(double gbps, const std::string& library) {
    auto results = made_up_results(1, 2);
    results.backend = "nccl";
    results.fingerprint = {{"library", library}};
    const auto group = add_nodes(results, 1);
    add_measurement(results, group, {.bytes = 1000000, .seconds = 1e6 / (gbps * 1e9)});
    return results;
}

class SavedRuns : public testing::Test {
  protected:
    std::string saved(const char* name, const Results& results) const {
        folder_.write(name, to_json(report_of(results)));
        return folder_.path(name);
    }

    // What is printed is then in `out`.
    Result<ExitCode> done(const Diff& diff) const {
        std::FILE* const out = std::fopen(folder_.path("out").c_str(), "w");
        auto code = diff_runs(diff, out);
        static_cast<void>(std::fclose(out));
        return code;
    }

    const MadeUpFolder folder_;
};

// 8 is 20 % below 10.
TEST_F(SavedRuns, ADifferentLibraryIsToldAndWhatIsSlowerFails) {
    const Diff diff{saved("a", run_at(10, "NCCL 2.28")), saved("b", run_at(8, "NCCL 2.29")), 0.05};
    const auto code = done(diff);
    ASSERT_TRUE(code);
    EXPECT_EQ(*code, ExitCode::check_failed);
    EXPECT_THAT(folder_.read("out"), HasSubstr("library is 'NCCL 2.28' there, 'NCCL 2.29' here\n"));
    EXPECT_THAT(folder_.read("out"),
                HasSubstr("10.00          8.00   -20.0 %  all-reduce float, 976.56 KiB, 1 node\n"));
    EXPECT_EQ(*done({diff.before, saved("b", run_at(9.6, "NCCL")), 0.05}), ExitCode::done);
}

TEST_F(SavedRuns, NoMeasurementInCommonIsAnError) {
    auto other = run_at(10, "NCCL");
    other.measurements[0].subject.bytes = 8;
    const std::string before = saved("a", run_at(10, "NCCL"));
    const std::string after = saved("b", other);
    const auto code = done({before, after, 0.05});
    ASSERT_FALSE(code);
    EXPECT_EQ(code.error().message(),
              "distgpu: " + before + " and " + after +
                  ": no measurement in common; compare runs with the same collectives, types, "
                  "sizes and numbers of ranks");
}

TEST_F(SavedRuns, AFileThatIsNoRunIsNamed) {
    const std::string run = saved("a", run_at(10, "NCCL"));
    folder_.write("b", "{}");
    const std::string other = folder_.path("b");
    EXPECT_EQ(done({run, other, 0.05}).error().object, other);
    EXPECT_EQ(done({other, run, 0.05}).error().object, other);
}

}  // namespace
}  // namespace distgpu::scaling
