// What GPUs wait for. Every case changes a step in which nothing stands out.
#include "tools/report/expect_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ReportWaits, TheOthersWaitForRank0) {
    // In ten of 60 minutes only rank 0's process works.
    const auto wait = [](StepReport& report) {
        for (std::size_t rank = 0; rank < 8; ++rank) {
            for (std::size_t i = 30; i < 40; ++i) {
                gpu_of(report, rank).busy_series[i] = 0;
                rank_of(report, rank).cpu_series[i] = rank == 0 ? 1 : 0.1;
            }
        }
    };
    const char* const finding =
        "for 10 min, 17% of the time, only rank 0 works, as in evaluation or checkpoints: the GPUs "
        "of 7 other ranks wait";
    expect_findings({
        {"its CPU", wait, finding},
        {"it would use a CPU if it had one",
         [&](StepReport& report) {
             wait(report);
             std::fill_n(rank_of(report, 0).cpu_series.begin() + 30, 10, 0.3);
             rank_of(report, 0).cpu_wait_series.assign(intervals, 0.7);
         },
         finding},
        {"its GPU",
         [&](StepReport& report) {
             wait(report);
             std::fill_n(rank_of(report, 0).cpu_series.begin() + 30, 10, 0.1);
             std::fill_n(gpu_of(report, 0).busy_series.begin() + 30, 10, 90);
         },
         finding},
        {"its CPU, while the others wait in NCCL",
         [&](StepReport& report) {
             wait(report);
             for (std::size_t rank = 1; rank < 8; ++rank) {
                 std::fill_n(gpu_of(report, rank).busy_series.begin() + 30, 10, 100);
                 std::fill_n(rank_of(report, rank).cpu_series.begin() + 30, 10, 1);
             }
             gpu_of(report, 0).busy = {};
             gpu_of(report, 0).busy.add(75);  // which needs no finding of its own
         },
         finding},
        {"a rank 0 that only controls the others",
         [](StepReport& report) {
             rank_of(report, 0).first_gpu.reset();
             set_busy(gpu_of(report, 0), 1);
         },
         "GPUs of rank 0 on n1 1% busy, the others 95%"},
        {"all processes work, none of them for the others",
         [&](StepReport& report) {
             wait(report);
             for (std::size_t rank = 1; rank < 8; ++rank) {
                 std::fill_n(rank_of(report, rank).cpu_series.begin() + 30, 10, 1);
             }
         },
         ""},
        {"half a thread is no work",
         [&](StepReport& report) {
             wait(report);
             std::fill_n(rank_of(report, 0).cpu_series.begin() + 30, 10, 0.5);
         },
         ""},
        {"one other GPU works",
         [&](StepReport& report) {
             wait(report);
             std::fill_n(gpu_of(report, 6).busy_series.begin() + 30, 10, 90);
         },
         ""},
        {"before the other GPUs have worked",
         [&](StepReport& report) {
             wait(report);
             rank_of(report, 6).first_gpu = 2400;
         },
         ""},
        {"nobody measured the other GPUs then",
         [&](StepReport& report) {
             wait(report);
             for (std::size_t rank = 1; rank < 8; ++rank) {
                 std::fill_n(gpu_of(report, rank).busy_series.begin() + 30, 10, std::nullopt);
             }
         },
         ""},
        {"two minutes of 60",
         [](StepReport& report) {
             for (std::size_t rank = 0; rank < 8; ++rank) {
                 for (std::size_t i = 30; i < 32; ++i) {
                     gpu_of(report, rank).busy_series[i] = 0;
                     rank_of(report, rank).cpu_series[i] = rank == 0 ? 1 : 0.1;
                 }
             }
         },
         ""},
    });
}

TEST(ReportWaits, OneNodeIsDifferentlyBusy) {
    expect_findings({
        {"busier: the others wait for it",
         [](StepReport& report) {
             set_all_busy(report, 61);
             set_node_busy(report, 2, 97);
         },
         "GPUs of n3 97% busy, the others 61%: they wait for n3"},
        {"less busy", [](StepReport& report) { set_node_busy(report, 2, 50); },
         "GPUs of n3 50% busy, the others 95%: n3 waits for something outside its GPUs"},
        {"too little to tell", [](StepReport& report) { set_node_busy(report, 2, 81); }, ""},
        {"the others are not alike either",
         [](StepReport& report) {
             set_node_busy(report, 2, 50);
             set_node_busy(report, 1, 83);
         },
         ""},
        {"half of the nodes are no exception",
         [](StepReport& report) {
             set_node_busy(report, 2, 50);
             set_node_busy(report, 3, 50);
         },
         ""},
        {"a part of its ranks", [](StepReport& report) { set_busy(gpu_of(report, 4), 50); },
         "GPUs of rank 4 on n3 50% busy, the others 95%"},
    });
}

TEST(ReportWaits, TheOddNodeIsNamedWithWhatSlowsIt) {
    EXPECT_THAT(
        report_findings(changed([](StepReport& report) {
            set_all_busy(report, 61);
            set_node_busy(report, 2, 97);
            gpu_of(report, 4).slow_clocks = {{"power cap", 3600}, {"hardware thermal", 2952}};
        })),
        ElementsAre("GPUs of n3 97% busy, the others 61%: hardware thermal slowed its "
                    "clocks 82% of the time",
                    "GPU 0000:01:00.0 on n3 (rank 4): hardware thermal slowed the clocks "
                    "up to 82% of the time",
                    "GPU 0000:01:00.0 on n3 (rank 4): power cap slowed the clocks up to "
                    "100% of the time"));
    // Of two nodes it is clear only then which one is odd.
    StepReport two = made_up_report(2, 2);
    set_node_busy(two, 1, 60);
    EXPECT_THAT(report_findings(two), IsEmpty());
    gpu_of(two, 0).pcie_width = 4;
    EXPECT_THAT(report_findings(two),
                ElementsAre("GPUs of n1 95% busy, the others 60%: its PCIe runs with 4 of 16 lanes",
                            "GPU 0000:01:00.0 on n1 (rank 0): PCIe runs with 4 of 16 lanes"));
}

TEST(ReportWaits, ALongStartIsTold) {
    const auto start = [](double seconds) {
        return [seconds](StepReport& report) {
            for (std::size_t rank = 0; rank < 8; ++rank) rank_of(report, rank).first_gpu = seconds;
        };
    };
    expect_findings({
        {"a third", start(1200), "the GPUs first worked after 20 min, 33% of the time"},
        {"a sixth", start(600), ""},
        {"a third of a minute",
         [&](StepReport& report) {
             start(20)(report);
             for (NodeReport& node : report.reports) node.seconds = 60;
         },
         ""},
    });
}

}  // namespace
}  // namespace distgpu
