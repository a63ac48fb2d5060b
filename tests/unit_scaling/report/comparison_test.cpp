// Comparison of a run with an earlier one: common and missing measurements, differences, and the
// output.
#include "report/comparison.h"

#include "made_up_folder.h"
#include "report/formats.h"
#include "synthetic_results.h"

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
    auto results = synthetic_results(2, 2);
    results.backend = "nccl";
    results.fingerprint = {{"NCCL", "2.30.7"}, {"driver", "575.1"}};
    const auto group = add_nodes(results, 1);
    add_measurement(results, group, {.bytes = 100, .seconds = 1});
    add_measurement(results, group, {.bytes = 400, .seconds = 2});
    return results;
}

Comparison compare_with_small_run(const Results& after) {
    return compare_runs(after, {"old", small_run(), 0.05});
}

// Times of 0.5 and 2 s instead of 1 and 2 s. A size that only the later run has is ignored.
TEST(CompareRuns, EachMeasurementThatBothHave) {
    auto after = small_run();
    after.measurements[0].time.median = 0.5;
    add_measurement(after, 0, {.bytes = 800, .seconds = 1});
    const auto comparison = compare_with_small_run(after);
    EXPECT_EQ(comparison.changes, (std::vector<Change>{{0, 100, 200}, {1, 200, 200}}));
    EXPECT_EQ(comparison.passed_count(), 2U);
    EXPECT_TRUE(comparison.unmeasured.empty());
    EXPECT_TRUE(comparison.differences.empty());
}

TEST(CompareRuns, WhatOnlyTheEarlierRunHasIsNamedOnce) {
    auto before = small_run();
    add_measurement(before, 0, {.bytes = 400, .seconds = 9});  // the first of the two counts
    auto after = small_run();
    after.measurements.pop_back();
    const auto comparison = compare_runs(after, {"old", before, 0});
    EXPECT_EQ(comparison.changes, (std::vector<Change>{{0, 100, 100}}));
    EXPECT_EQ(comparison.unmeasured, std::vector<std::string>{"all-reduce float, 400 B, 2 ranks"});
}

// All are slower than float out of place on one node, but of another kind each. Pairs and rails are
// not compared.
TEST(CompareRuns, TypePlacementAndKindOfGroupAreDistinguished) {
    auto after = small_run();
    add_measurement(after, 0, {.in_place = true, .bytes = 100, .seconds = 9});
    add_measurement(after, 0, {.type = DataType::f16, .bytes = 100, .seconds = 9});
    add_measurement(after, 0, {.collective = Collective::broadcast, .bytes = 100, .seconds = 9});
    for (const auto kind : {Group::Kind::gpus, Group::Kind::pair, Group::Kind::rail}) {
        const auto group = add_group(after, {.kind = kind, .nodes = {0, 1}, .ranks = 2});
        add_measurement(after, group, {.bytes = 100, .seconds = 9});
    }
    EXPECT_EQ(compare_with_small_run(after).changes,
              (std::vector<Change>{{0, 100, 100}, {1, 200, 200}}));
    EXPECT_EQ(compare_runs(small_run(), {"old", after, 0}).unmeasured.size(), 4U);
}

// 5 % less than 200 is 190.
TEST(CompareRuns, SlowerThanTheToleranceFails) {
    auto after = small_run();
    after.measurements[1].time.median = 400 / 191.0;
    EXPECT_EQ(compare_with_small_run(after).exit_code(), ExitCode::done);
    after.measurements[1].time.median = 400 / 160.0;
    const auto comparison = compare_with_small_run(after);
    EXPECT_EQ(comparison.exit_code(), ExitCode::check_failed);
    EXPECT_EQ(comparison_text(after, comparison),
              "# FAILED: all-reduce float, 400 B, 1 node: 1.6e-07 GB/s, 84.2 % of the 1.9e-07 that "
              "it must reach\n"
              "# baseline old, tolerance 5.0 %: 1 passed, 1 failed, 0 not measured\n");
}

// As after an update of the library.
TEST(CompareRuns, AnotherLibraryIsReportedAndCompared) {
    auto now = small_run();
    now.backend = "mpi";
    now.fingerprint = {{"NCCL", "2.31.0"}, {"CUDA", "13"}};
    const auto comparison = compare_with_small_run(now);
    EXPECT_EQ(comparison.exit_code(), ExitCode::done);
    EXPECT_EQ(comparison_text(now, comparison),
              "# old: backend is 'nccl' there, 'mpi' here\n"
              "# old: NCCL is '2.30.7' there, '2.31.0' here\n"
              "# old: CUDA is missing there, '13' here\n"
              "# old: driver is '575.1' there, missing here\n"
              "# baseline old, tolerance 5.0 %: 2 passed, 0 failed, 0 not measured\n");
}

// A comparison without measurements must not pass.
TEST(CompareRuns, IsSkippedWithoutCommonMeasurements) {
    auto empty = small_run();
    empty.measurements.clear();
    const auto comparison = compare_with_small_run(empty);
    EXPECT_EQ(comparison.exit_code(), ExitCode::skipped);
    EXPECT_EQ(comparison_text(empty, comparison),
              "# not measured: all-reduce float, 100 B, 2 ranks\n"
              "# not measured: all-reduce float, 400 B, 2 ranks\n"
              "# baseline old, tolerance 5.0 %: 0 passed, 0 failed, 2 not measured\n");
}

// One node of two ranks, for which the factor of all-reduce is 1: `gbps` for 1 MB.
Results run_at(double gbps, const std::string& library) {
    auto results = synthetic_results(1, 2);
    results.backend = "nccl";
    results.fingerprint = {{"library", library}};
    const auto group = add_nodes(results, 1);
    add_measurement(results, group, {.bytes = 1000000, .seconds = 1e6 / (gbps * 1e9)});
    return results;
}

class SavedRuns : public testing::Test {
  protected:
    std::string save(const char* name, const Results& results) const {
        folder_.write(name, to_json(make_report(results)));
        return folder_.path(name);
    }

    // Prints to the file `out`.
    Result<ExitCode> run_diff(const Diff& diff) const {
        std::FILE* const out = std::fopen(folder_.path("out").c_str(), "w");
        auto code = print_diff(diff, out);
        static_cast<void>(std::fclose(out));
        return code;
    }

    const MadeUpFolder folder_;
};

// 8 is 20 % below 10.
TEST_F(SavedRuns, ADifferentLibraryIsReportedAndSlowerFails) {
    const Diff diff{save("a", run_at(10, "NCCL 2.28")), save("b", run_at(8, "NCCL 2.29")), 0.05};
    const auto code = run_diff(diff);
    ASSERT_TRUE(code);
    EXPECT_EQ(*code, ExitCode::check_failed);
    EXPECT_THAT(folder_.read("out"), HasSubstr("library is 'NCCL 2.28' there, 'NCCL 2.29' here\n"));
    EXPECT_THAT(folder_.read("out"),
                HasSubstr("10.00          8.00   -20.0 %  all-reduce float, 976.56 KiB, 1 node\n"));
    EXPECT_EQ(*run_diff({diff.before, save("b", run_at(9.6, "NCCL")), 0.05}), ExitCode::done);
}

TEST_F(SavedRuns, NoMeasurementInCommonIsAnError) {
    auto other = run_at(10, "NCCL");
    other.measurements[0].operation.bytes = 8;
    const std::string before = save("a", run_at(10, "NCCL"));
    const std::string after = save("b", other);
    const auto code = run_diff({before, after, 0.05});
    ASSERT_FALSE(code);
    EXPECT_EQ(code.error().message(),
              "distgpu: " + before + " and " + after +
                  ": no measurement in common; compare runs with the same collectives, types, "
                  "sizes and numbers of ranks");
}

TEST_F(SavedRuns, AFileThatIsNotARunIsNamed) {
    const std::string run = save("a", run_at(10, "NCCL"));
    folder_.write("b", "{}");
    const std::string other = folder_.path("b");
    EXPECT_EQ(run_diff({run, other, 0.05}).error().object, other);
    EXPECT_EQ(run_diff({other, run, 0.05}).error().object, other);
}

}  // namespace
}  // namespace distgpu::scaling
