// GPUs that wait because the CPUs of their ranks are all in use.
#include "tools/report/expect_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

using testing::ElementsAre;

TEST(ReportCpuBound, DataLoadersStarveGpus) {
    expect_findings({
        {"several ranks of one node",
         [](StepReport& report) {
             starve(report, 4);
             starve(report, 5);
         },
         "GPUs of ranks 4-5 on n3 38% busy: their data loaders use 14.8 of 16 CPUs per rank"},
        {"all ranks",
         [](StepReport& report) {
             for (std::size_t rank = 0; rank < 8; ++rank) starve(report, rank);
         },
         "GPUs of ranks 0-7 on n1, n2, n3, n4 38% busy: their data loaders use 14.8 of 16 CPUs per "
         "rank"},
        {"one CPU",
         [](StepReport& report) {
             starve(report, 5);
             rank_of(report, 5).cpus = 1;
             rank_of(report, 5).worker_cpu_series.assign(intervals, 1);
         },
         "GPU of rank 5 on n3 38% busy: its data loaders use 1.0 of its 1 CPU"},
        {"CPUs that other processes use, too",
         [](StepReport& report) {
             starve(report, 5);
             rank_of(report, 5).worker_cpu_series.assign(intervals, 4);
             rank_of(report, 5).worker_cpu_wait_series.assign(intervals, 11);
         },
         "GPU of rank 5 on n3 38% busy: its data loaders use 4.0 of its 16 CPUs, and wait for what "
         "other processes use"},
        {"a GPU that is busy all the same",
         [](StepReport& report) { rank_of(report, 5).worker_cpu_series.assign(intervals, 15); },
         ""},
        {"an input pipeline in the program itself",
         [](StepReport& report) {
             set_busy(gpu_of(report, 5), 38);
             rank_of(report, 5).cpu_series.assign(intervals, 13.5);
         },
         "GPU of rank 5 on n3 38% busy: its own threads use 13.5 of its 16 CPUs"},
        // As its GPU differs from the others, only that is reported.
        {"a thread that waits for the GPU",
         [](StepReport& report) {
             set_busy(gpu_of(report, 5), 38);
             rank_of(report, 5).cpus = 1;
             rank_of(report, 5).worker_cpu_series.assign(intervals, 0);
         },
         "GPUs of rank 5 on n3 38% busy, the others 95%"},
        {"only for a third of the time",
         [](StepReport& report) {
             starve(report, 5);
             for (std::size_t i = 20; i < intervals; ++i) {
                 rank_of(report, 5).worker_cpu_series[i] = 2;
             }
         },
         "GPUs of rank 5 on n3 38% busy, the others 95%"},
        {"only before its GPU works first",
         [](StepReport& report) {
             starve(report, 5);
             rank_of(report, 5).first_gpu = 2400;
             for (std::size_t i = 40; i < intervals; ++i) {
                 rank_of(report, 5).worker_cpu_series[i] = 2;
             }
         },
         "GPUs of rank 5 on n3 38% busy, the others 95%"},
    });
}

// A launcher's processes share the CPUs of its task.
TEST(ReportCpuBound, RanksOfALauncherShareItsCpus) {
    const auto launch = [](double loaders) {
        return changed([&](StepReport& report) {
            for (std::size_t rank = 0; rank < 8; ++rank) {
                rank_of(report, rank).task = static_cast<std::uint32_t>(rank / 2);
                if (rank / 2 != 1) continue;
                set_busy(gpu_of(report, rank), 50);
                rank_of(report, rank).worker_cpu_series.assign(intervals, loaders);
            }
        });
    };
    // 2 x (7 + 1) of the 16 CPUs.
    EXPECT_THAT(report_findings(launch(7)),
                ElementsAre("GPUs of ranks 2-3 on n2 50% busy: their data loaders use 14.0 of 16 "
                            "CPUs per task"));
    // 2 x (9 + 1) are more than 16: each has 16 of its own, of which it uses 10.
    EXPECT_THAT(report_findings(launch(9)),
                ElementsAre("GPUs of n2 50% busy, the others 95%: n2 waits for something outside "
                            "its GPUs"));
}

}  // namespace
}  // namespace distgpu
