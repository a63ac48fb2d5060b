#include "run/judge.h"

#include "made_up_results.h"
#include "report/report_json.h"
#include "scratch_folder.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace distgpu::scaling {
namespace {

constexpr std::uint64_t mib = 1U << 20U;

// One node of two ranks, for which the factor of all-reduce is 1: `gbps` for 64 MiB.
Results run_at(double gbps) {
    auto results = made_up_results(1, 2);
    results.backend = "nccl";
    results.fingerprint = {{"NCCL", "2.30.7"}};
    const auto group = add_nodes(results, 1);
    add_measurement(results, group, {.bytes = 64 * mib, .seconds = 64 * mib / (gbps * 1e9)});
    return results;
}

std::string saved(const ScratchFolder& folder, const Results& results) {
    ReportInput report;
    report.results = results;
    return folder.write("old.json", to_json(report));
}

Judgement judged(const Demands& demands, const Results& results) {
    const auto judge = Judge::make(demands);
    EXPECT_TRUE(judge);
    return judge->judge(results);
}

TEST(Judge, NothingAskedIsNothingSaid) {
    const auto judgement = judged({}, run_at(1));
    EXPECT_TRUE(judgement.demands.empty());
    EXPECT_EQ(exit_code_of(judgement), ExitCode::done);
}

TEST(Judge, ThresholdsFailedPassedAndNotMeasured) {
    const ScratchFolder folder;
    const std::string file =
        folder.write("limits", "all-reduce,64M,2,2\nall-reduce,1G,16,180\nreduce,64M,2,1\n");
    const auto judgement = judged({.baseline = "", .thresholds = file}, run_at(1));
    EXPECT_EQ(
        judgement_text(run_at(1), judgement),
        "# FAILED: all-reduce float, 64 MiB, 1 node: 1 GB/s, 50.0 % of the 2 that it must reach\n"
        "# not measured: all-reduce, 1 GiB, 16 ranks\n"
        "# not measured: reduce, 64 MiB, 2 ranks\n"
        "# thresholds " +
            file + ": 0 passed, 1 failed, 2 not measured\n");
    EXPECT_EQ(exit_code_of(judgement), ExitCode::check_failed);
    const auto fast = judged({.baseline = "", .thresholds = file}, run_at(3));
    EXPECT_EQ(exit_code_of(fast), ExitCode::done);
}

// A gate that saw nothing has not been passed.
TEST(Judge, WhereNothingWasMeasuredThatIsAskedItIsSkipped) {
    const ScratchFolder folder;
    const std::string file = folder.write("limits", "all-reduce,1G,16,180\n");
    const Demands limits{.baseline = "", .thresholds = file};
    EXPECT_EQ(exit_code_of(judged(limits, run_at(1))), ExitCode::skipped);
    auto empty = run_at(1);
    empty.measurements.clear();
    const Demands old{.baseline = saved(folder, empty), .thresholds = ""};
    EXPECT_EQ(exit_code_of(judged(old, run_at(1))), ExitCode::skipped);
}

TEST(Judge, ABaselineWithItsTolerance) {
    const ScratchFolder folder;
    const std::string file = saved(folder, run_at(10));
    // 9.4 is 6 % lower.
    const Demands lenient{.baseline = file, .tolerance = 0.07, .thresholds = ""};
    EXPECT_EQ(exit_code_of(judged(lenient, run_at(9.4))), ExitCode::done);
    const auto judgement =
        judged({.baseline = file, .tolerance = 0.05, .thresholds = ""}, run_at(9.4));
    EXPECT_EQ(exit_code_of(judgement), ExitCode::check_failed);
    EXPECT_EQ(judgement_text(run_at(9.4), judgement),
              "# FAILED: all-reduce float, 64 MiB, 1 node: 9.4 GB/s, 98.9 % of the 9.5 that it "
              "must reach\n"
              "# baseline " +
                  file + ", tolerance 5.0 %: 0 passed, 1 failed, 0 not measured\n");
}

TEST(Judge, BothAreAsked) {
    const ScratchFolder folder;
    const std::string file = folder.write("limits", "all-reduce,64M,2,20\n");
    const auto judgement =
        judged({.baseline = saved(folder, run_at(10)), .thresholds = file}, run_at(10));
    EXPECT_EQ(exit_code_of(judgement), ExitCode::check_failed);
    ASSERT_EQ(judgement.demands.size(), 2U);
    EXPECT_EQ(judgement.demands[0].comparison.passed, 1U);
    EXPECT_EQ(judgement.demands[1].comparison.violations.size(), 1U);
}

// "Did the update slow us?"
TEST(Judge, AnotherLibraryIsToldAndCompared) {
    const ScratchFolder folder;
    auto now = run_at(5);
    now.fingerprint = {{"NCCL", "2.31.0"}};
    const auto judgement = judged({.baseline = saved(folder, run_at(10)), .thresholds = ""}, now);
    ASSERT_EQ(judgement.demands.size(), 1U);
    EXPECT_EQ(judgement.demands[0].differences,
              (std::vector<Difference>{{"NCCL", "2.31.0", "2.30.7"}}));
    EXPECT_EQ(exit_code_of(judgement), ExitCode::check_failed);
}

TEST(Judge, TheHeadlineExpectsWhatTheBaselineReached) {
    const ScratchFolder folder;
    const auto judge = Judge::make({.baseline = saved(folder, run_at(10)), .thresholds = ""});
    ASSERT_TRUE(judge);
    const auto expected = judge->expected(run_at(5));
    ASSERT_TRUE(expected);
    EXPECT_NEAR(expected->busbw, 10e9, 1);
    EXPECT_EQ(expected->source, "the baseline");
    EXPECT_EQ(Judge::make({})->expected(run_at(5)), std::nullopt);
}

TEST(Judge, ToleranceIsAShare) {
    const auto refusal = [](double tolerance) {
        const auto judge = Judge::make({.baseline = "", .tolerance = tolerance, .thresholds = ""});
        return judge ? "" : judge.error().message();
    };
    EXPECT_EQ(refusal(5),
              "distgpu: tolerance: 5 is not between 0 and 1; "
              "0.05 lets each bus bandwidth be 5% lower");
    EXPECT_NE(refusal(-0.1), "");
    EXPECT_NE(refusal(std::numeric_limits<double>::quiet_NaN()), "");
    EXPECT_EQ(refusal(1), "");
}

TEST(Judge, FilesThatCannotBeReadAreNamed) {
    const ScratchFolder folder;
    const std::string none = folder.path("none");
    const std::string text = folder.write("text", "all-reduce 1G 16 180\n");
    const auto refusal = [](const Demands& demands) {
        const auto judge = Judge::make(demands);
        return judge ? "" : judge.error().message();
    };
    EXPECT_EQ(refusal({.baseline = none, .thresholds = ""}),
              "distgpu: " + none +
                  ": No such file or directory; give a file that nccl-scaling --json wrote");
    EXPECT_EQ(refusal({.baseline = text, .thresholds = ""}),
              "distgpu: " + text +
                  ": not JSON, or cut short; give a file that nccl-scaling --json wrote");
    EXPECT_EQ(refusal({.baseline = "", .thresholds = none}),
              "distgpu: " + none + ": No such file or directory; give a file of thresholds");
    EXPECT_NE(refusal({.baseline = "", .thresholds = text}).find(text + ", line 1: 1 items"),
              std::string::npos);
}

}  // namespace
}  // namespace distgpu::scaling
