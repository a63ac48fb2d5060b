// The verdict on a step, and the order of its findings.
#include "tools/report/expect_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(ReportVerdict, OfBusyGpusThatAreAllAlikeClearsTheRest) {
    EXPECT_EQ(report_verdict(made_up_report(4, 2)),
              "GPUs 95% busy, all alike; the kernels on them, NCCL's included, are the limit; "
              "nothing else stands out");
    EXPECT_EQ(report_verdict(made_up_report(1, 1)),
              "GPU 95% busy; the kernels on them, NCCL's included, are the limit; nothing else "
              "stands out");
}

TEST(ReportVerdict, DoesNotExplainIdleGpusWithoutEvidence) {
    EXPECT_EQ(report_verdict(changed([](StepReport& report) { set_all_busy(report, 60); })),
              "GPUs 60% busy, all alike; nothing measured here explains their idle 40%");
}

TEST(ReportVerdict, ExplainsIdleGpusByTheStart) {
    const auto start = [](std::uint32_t busy_afterwards) {
        return changed([&](StepReport& report) {
            set_all_busy(report, busy_afterwards);
            for (std::size_t rank = 0; rank < 8; ++rank) {
                GpuReport& gpu = gpu_of(report, rank);
                gpu.busy.add(0, 900);
                std::fill_n(gpu.busy_series.begin(), 12, 0);
                gpu.busy_series[12] = 30;
            }
        });
    };
    EXPECT_EQ(report_verdict(start(95)),
              "GPUs 76% busy, all alike; 95% since they first worked: the kernels on them, NCCL's "
              "included, are the limit; nothing else stands out");
    EXPECT_EQ(report_verdict(start(85)),
              "GPUs 68% busy, all alike; nothing measured here explains their idle 32%");
}

TEST(ReportVerdict, ClearsOnlyWhatWasMeasured) {
    const std::string limited = "nothing else stands out in what was measured";
    EXPECT_THAT(report_verdict(changed([](StepReport& report) {
                    report.reports[1].notes = {"TCP connections were not measured"};
                })),
                HasSubstr(limited));
    EXPECT_THAT(
        report_verdict(changed([](StepReport& report) { report.reports[1].ranks.clear(); })),
        HasSubstr(limited));
    EXPECT_EQ(report_verdict(changed([](StepReport& report) {
                  for (NodeReport& node : report.reports) node.gpus.clear();
              })),
              "no GPU; nothing else stands out");
}

TEST(ReportVerdict, NeverTakesAGpuThatWasNotMeasuredForIdle) {
    EXPECT_EQ(report_verdict(changed([](StepReport& report) {
                  gpu_of(report, 3) = {.pci = "0000:02:00.0", .ranks = {3}};
              })),
              "GPUs 95% busy (1 of 8 not measured); 1 of 8 GPUs not measured: GPU 0000:02:00.0 on "
              "n2 (rank 3)");
    const std::string none = report_verdict(changed([](StepReport& report) {
        for (NodeReport& node : report.reports) {
            for (GpuReport& gpu : node.gpus) gpu.source = "";
        }
    }));
    EXPECT_THAT(none, StartsWith("GPUs not measured; 8 of 8 GPUs not measured: "));
    EXPECT_THAT(none, Not(HasSubstr("0%")));
    // A library was there, but the step was too short for a sample.
    EXPECT_THAT(report_verdict(changed(
                    [](StepReport& report) { gpu_of(report, 3).busy.counts.assign(101, 0); })),
                StartsWith("GPUs 95% busy (1 of 8 not measured)"));
}

TEST(ReportVerdict, CountsMissingReports) {
    EXPECT_EQ(report_verdict(changed([](StepReport& report) { report.reports.pop_back(); })),
              "GPUs 95% busy (3 of 4 nodes); no report from 1 of 4 nodes, which are left out here");
    EXPECT_EQ(report_verdict(changed([](StepReport& report) { report.reports.clear(); })),
              "no report from any of 4 nodes");
}

TEST(ReportVerdict, SaysThatTheStepMayStillRun) {
    EXPECT_THAT(report_verdict(changed([](StepReport& report) {
                    for (NodeReport& node : report.reports) node.is_complete = false;
                })),
                StartsWith("last written after 1 h 0 min, before the step's end: GPUs 95% busy"));
}

TEST(ReportVerdict, NamesTheRankThatWaitsForItsData) {
    // Seven GPUs at 95% and one at 38%.
    EXPECT_EQ(report_verdict(changed([](StepReport& report) { starve(report, 5); })),
              "GPUs 88% busy; GPU of rank 5 on n3 38% busy: its data loaders use 14.8 of its 16 "
              "CPUs");
}

TEST(ReportFindings, TheMostImportantIsFirst) {
    const auto found = report_findings(changed([](StepReport& report) {
        starve(report, 5);
        rank_of(report, 2).restarts = 1;
        gpu_of(report, 1).xids = {{79, 10}};
        gpu_of(report, 1).lost = 10;
        report.nodes = 5;
    }));
    EXPECT_THAT(found, ElementsAre(HasSubstr("fell off the bus"), HasSubstr("Xid 79"),
                                   HasSubstr("data loaders"), HasSubstr("restarted"),
                                   HasSubstr("no report from 1 of 5 nodes")));
}

// A file may contain anything.
TEST(ReportFindings, NoNameSteersTheTerminal) {
    const auto found = report_findings(changed([](StepReport& report) {
        report.reports[2].node = "\x1b[31mn3\n\xc2\x9b";
        gpu_of(report, 5).lost = 10;
    }));
    EXPECT_THAT(found,
                ElementsAre("GPU 0000:02:00.0 on ?[31mn3??? (rank 5) fell off the bus after 10 s"));
}

}  // namespace
}  // namespace distgpu
