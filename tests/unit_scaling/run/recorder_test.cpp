#include "run/recorder.h"

#include "analysis/pairs.h"
#include "made_up_folder.h"
#include "report/formats.h"
#include "synthetic_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

namespace distgpu::scaling {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Rank 0 of a run on one node with two ranks, with all files.
class RecorderTest : public testing::Test {
  protected:
    RecorderTest() {
        options_.files = {folder_.path("json"), folder_.path("html")};
        results_ = synthetic_results(1, 2);
        results_.backend = "mpi";
        results_.fingerprint = {{"MPI", "4.1"}};
        add_nodes(results_, 1);
        // 1 GB/s
        add_measurement(results_, 0, {.bytes = 1000000, .seconds = 0.001});
        measurement_ = results_.measurements.front();
        results_.measurements.clear();
    }
    ~RecorderTest() override { static_cast<void>(std::fclose(out_)); }

    std::size_t saved_measurements() const {
        const auto results = read_results(options_.files.json);
        EXPECT_TRUE(results);
        return results->measurements.size();
    }

    const MadeUpFolder folder_;
    Options options_;
    Results results_;
    Measurement measurement_;
    std::FILE* const out_ = std::fopen(folder_.path("out").c_str(), "w");
};

TEST_F(RecorderTest, TheFilesExistFromTheBeginning) {
    Recorder recorder(options_, out_);
    EXPECT_EQ(recorder.begin(results_), std::nullopt);
    EXPECT_EQ(saved_measurements(), 0U);
    EXPECT_THAT(folder_.read("html"), HasSubstr("\"complete\": false"));
}

TEST_F(RecorderTest, AFileThatCannotBeWrittenIsAnErrorBeforeTheMeasurements) {
    options_.files.html = "/nowhere/page";
    Recorder recorder(options_, out_);
    const auto error = recorder.begin(results_);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->object, "/nowhere/page");
}

TEST_F(RecorderTest, JsonIsWrittenEveryTwoSeconds) {
    Recorder recorder(options_, out_);
    EXPECT_EQ(recorder.begin(results_), std::nullopt);
    for (int i = 0; i < 100; ++i) recorder.add_measurement(measurement_);
    EXPECT_EQ(saved_measurements(), 0U);
    std::this_thread::sleep_for(std::chrono::milliseconds(2010));
    recorder.add_measurement(measurement_);
    EXPECT_EQ(saved_measurements(), 101U);
    recorder.add_measurement(measurement_);
    EXPECT_EQ(saved_measurements(), 101U);
}

// Not pairs, rails and nodes alone, which are many.
TEST_F(RecorderTest, OnlyScalingGroupsHaveARow) {
    Recorder recorder(options_, out_);
    EXPECT_EQ(recorder.begin(results_), std::nullopt);
    auto groups = results_.groups;
    groups.push_back({Group::Kind::pair_rail, {0, 0}, 2, 1});
    recorder.set_groups(groups);
    measurement_.group = groups.size() - 1;
    recorder.add_measurement(measurement_);
    EXPECT_EQ(recorder.results().groups, groups);
    EXPECT_EQ(recorder.results().measurements, std::vector{measurement_});
    recorder.complete();
    EXPECT_EQ(folder_.read("out").find("rail 1"), std::string::npos);
}

// The folder is removed during the run, which has the effect of a full disk. There is one warning,
// the table and the verdict are still printed, and the exit status is an error.
TEST_F(RecorderTest, AFileThatCannotBeWrittenDuringTheRunDoesNotEndIt) {
    const MadeUpFolder gone;
    options_.files = {gone.path("json"), ""};
    Recorder recorder(options_, out_);
    EXPECT_EQ(recorder.begin(results_), std::nullopt);
    std::filesystem::remove_all(gone.path());
    testing::internal::CaptureStderr();
    for (int i = 0; i < 2; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2010));
        recorder.add_measurement(measurement_);
    }
    const std::string warning = testing::internal::GetCapturedStderr();
    EXPECT_THAT(warning, HasSubstr(gone.path("json") + ": "));
    EXPECT_THAT(warning, EndsWith("; the run continues\n"));
    EXPECT_EQ(std::ranges::count(warning, '\n'), 1);
    testing::internal::CaptureStderr();
    recorder.complete();
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(gone.path("json") + ": "));
    EXPECT_EQ(recorder.exit_code(), ExitCode::environment);
    EXPECT_THAT(folder_.read("out"), HasSubstr("\n1 node: "));
}

TEST_F(RecorderTest, AFailureKeepsTheMeasurementsMarkedAsPartial) {
    Recorder recorder(options_, out_);
    EXPECT_EQ(recorder.begin(results_), std::nullopt);
    recorder.add_measurement(measurement_);
    recorder.fail({"all-reduce", "has died", {"rank 1 on n0"}});
    EXPECT_EQ(saved_measurements(), 1U);
    EXPECT_THAT(folder_.read("json"), HasSubstr("\"complete\": false"));
    EXPECT_THAT(folder_.read("json"), HasSubstr("\"verdict\": null"));
    EXPECT_THAT(folder_.read("html"), HasSubstr("\"complete\": false"));
    EXPECT_THAT(folder_.read("html"), HasSubstr("rank 1 on n0"));
}

// The ranks did not even find each other.
TEST_F(RecorderTest, AFailureBeforeTheBeginning) {
    Recorder recorder(options_, out_);
    recorder.fail({"connecting the ranks", "only 1 of 2 ranks connected", {"rank 1"}});
    EXPECT_EQ(saved_measurements(), 0U);
    EXPECT_THAT(folder_.read("html"), HasSubstr("only 1 of 2 ranks connected"));
}

TEST_F(RecorderTest, TheVerdictIsTheLastLineAfterWhatFailed) {
    auto before = results_;
    before.measurements = {measurement_};
    before.measurements[0].time.median /= 4;
    Recorder recorder(options_, out_);
    recorder.set_baseline({"old", before, 0});
    EXPECT_EQ(recorder.begin(results_), std::nullopt);
    recorder.add_measurement(measurement_);
    recorder.complete();
    EXPECT_EQ(recorder.exit_code(), ExitCode::check_failed);
    EXPECT_THAT(folder_.read("out"),
                EndsWith("25.0 % of the 4 that it must reach\n"
                         "# baseline old, tolerance 0.0 %: 0 passed, 1 failed, 0 not measured\n"
                         "1 node: all-reduce 1 GB/s at 976.56 KiB, 25% of the 4 GB/s of the "
                         "baseline; limiter: cannot be determined with 1 node\n"));
    EXPECT_THAT(folder_.read("json"), HasSubstr("\"complete\": true"));
    EXPECT_THAT(folder_.read("json"), HasSubstr("\"judgement\": {\"outcome\":\"failed\""));
    EXPECT_THAT(folder_.read("html"), HasSubstr("\"outcome\":\"failed\""));
}

// Four nodes, one of which has half of the others' rate.
Results with_a_slow_node() {
    auto results = synthetic_results(4, 1);
    for (const auto& round : tournament(4)) {
        for (const auto& [first, second] : round) {
            add_measurement(results, add_group(results, {Group::Kind::pair, {first, second}, 2, 0}),
                            {.bytes = 8, .seconds = first == 2 || second == 2 ? 2.0 : 1.0});
        }
    }
    return results;
}

TEST_F(RecorderTest, ALimiterIsAFailureOnlyIfRequested) {
    for (const bool requested : {false, true}) {
        options_.fail_on_limiter = requested;
        Recorder recorder(options_, out_);
        EXPECT_EQ(recorder.begin(with_a_slow_node()), std::nullopt);
        recorder.complete();
        EXPECT_EQ(recorder.exit_code(), requested ? ExitCode::check_failed : ExitCode::done);
    }
    Recorder healthy(options_, out_);
    EXPECT_EQ(healthy.begin(results_), std::nullopt);
    healthy.complete();
    EXPECT_EQ(healthy.exit_code(), ExitCode::done);
    EXPECT_THAT(folder_.read("json"), HasSubstr("\"judgement\": null"));
}

// Each once, and only below half of the others' rate.
TEST_F(RecorderTest, FarSlowerPartsArePrintedDuringTheRun) {
    auto results = with_a_slow_node();
    for (const double seconds : {2.0, 100.0}) {
        for (Measurement& one : results.measurements) {
            if (one.time.median > 1) one.time.median = seconds;
        }
        Recorder recorder(options_, out_);
        EXPECT_EQ(recorder.begin(results), std::nullopt);
        recorder.print_slow_parts(12.3);
        recorder.print_slow_parts(24);
    }
    const std::string out = folder_.read("out");
    EXPECT_THAT(out, EndsWith("\n# after 12 s: n2 at 1.0 % of its peers\n"));
    EXPECT_EQ(out.find("# after", out.find("# after") + 1), std::string::npos);
}

}  // namespace
}  // namespace distgpu::scaling
