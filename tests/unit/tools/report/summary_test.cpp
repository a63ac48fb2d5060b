// Quantities as people write them, and what a report's texts have in common.
#include "report/summary.h"

#include "tools/report/made_up_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ReportSummary, WritesQuantitiesShort) {
    EXPECT_EQ(time_text(0), "0 s");
    EXPECT_EQ(time_text(119.4), "119 s");
    EXPECT_EQ(time_text(120), "2 min");
    EXPECT_EQ(time_text(3599), "59 min");
    EXPECT_EQ(time_text(3660), "1 h 1 min");
    EXPECT_EQ(time_text(90'000), "1 d 1 h");
    EXPECT_EQ(time_text(-1), "0 s");
    EXPECT_EQ(time_text(std::numeric_limits<double>::quiet_NaN()), "0 s");
    EXPECT_EQ(bytes_text(1023), "1023 B");
    EXPECT_EQ(bytes_text(1536), "1.5 KiB");
    EXPECT_EQ(bytes_text(9.99 * gib), "10 GiB");
    EXPECT_EQ(bytes_text(80 * gib), "80 GiB");
    EXPECT_EQ(bytes_text(gib - 1024), "1.0 GiB");
    EXPECT_EQ(bytes_text(4096.0 * 1024 * 1024 * gib), "4096 PiB");
    EXPECT_EQ(energy_text(3600), "1.0 Wh");
    EXPECT_EQ(energy_text(3.6e6 * 12), "12 kWh");
    EXPECT_EQ(busy_text(70.6), "71%");
}

TEST(ReportSummary, TakesTheTimeFromTheFirstBeginningToTheLastEnd) {
    StepReport report = made_up_report(3, 1);
    report.reports[1].began -= 10;
    report.reports[2].seconds += 5;
    EXPECT_EQ(began(report), report.reports[1].began);
    EXPECT_EQ(seconds_of(report), 3615);
    EXPECT_EQ(seconds_of({}), 0);
}

TEST(ReportSummary, MeansTheGpusThatWereMeasured) {
    StepReport report = made_up_report(1, 3);
    set_busy(gpu_of(report, 0), 20);
    set_busy(gpu_of(report, 1), 40);
    gpu_of(report, 2).source = "";
    EXPECT_EQ(mean_busy(gpus_of(report)), 30);
    EXPECT_EQ(mean_busy(std::vector<GpuOnNode>{}), std::nullopt);
    // A rank that drives two of them.
    rank_of(report, 0).gpus = {"0000:01:00.0", "0000:02:00.0", "0000:0f:00.0"};
    EXPECT_EQ(mean_busy(ranks_of(report)[0]), 30);
    EXPECT_EQ(mean_busy(ranks_of(report)[2]), std::nullopt);
}

TEST(ReportSummary, MeansWhatHasAValue) {
    using Numbers = std::vector<std::optional<double>>;
    EXPECT_EQ(mean_of(Numbers{20, std::nullopt, 40}), 30);
    EXPECT_EQ(mean_of(Numbers{std::nullopt}), std::nullopt);
    EXPECT_EQ(mean_of(Numbers{}), std::nullopt);
    const auto half = [](int value) { return std::optional(value / 2.0); };
    EXPECT_EQ(mean_of(std::vector{3, 4}, half), 1.75);
}

TEST(ReportSummary, OrdersRanksAcrossNodes) {
    StepReport report = made_up_report(2, 1);
    rank_of(report, 0).rank = 1;
    rank_of(report, 1).rank = 0;
    EXPECT_EQ(ranks_of(report)[0].node->node, "n2");
    EXPECT_EQ(median_of({3, 1, 2}), 2);
    EXPECT_EQ(median_of({3, 1}), 3);
}

TEST(ReportSummary, HeadingSaysWhichStep) {
    StepReport report = made_up_report(2, 4);
    EXPECT_EQ(heading(report),
              "step 5.0 on cluster hpc (pytorch,report): 8 ranks on 2 nodes, 1 h 0 min");
    report.cluster = report.spec = "";
    EXPECT_EQ(heading(report), "step 5.0: 8 ranks on 2 nodes, 1 h 0 min");
}

TEST(ReportSummary, TellsEachNoteOnce) {
    StepReport report = made_up_report(3, 1);
    EXPECT_THAT(notes_of(report), IsEmpty());
    report.reports[0].notes = {"no NVML", "no TCP\n"};
    report.reports[2].notes = {"no NVML"};
    EXPECT_THAT(notes_of(report), ElementsAre("no NVML (on 2 nodes)", "no TCP?"));
    // 3 x (1.8 + 1.8) s in 3 x 3600 s.
    EXPECT_EQ(cost_text(report), "the report took 0.10% of a CPU per node and at most 12 MiB");
}

}  // namespace
}  // namespace distgpu
