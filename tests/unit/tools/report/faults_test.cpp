// What went wrong in a step. Every case changes a step in which nothing stands out.
#include "tools/report/expect_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(ReportFaults, GpusHaveFaults) {
    expect_findings({
        {"lost", [](StepReport& report) { gpu_of(report, 5).lost = 3000; },
         "GPU 0000:02:00.0 on n3 (rank 5) fell off the bus after 50 min"},
        {"several lost: the first",
         [](StepReport& report) {
             gpu_of(report, 1).lost = 3000;
             gpu_of(report, 5).lost = 2400;
         },
         "GPU 0000:02:00.0 on n3 (rank 5) and 1 other GPU fell off the bus after 40 min"},
        {"an Xid with a meaning",
         [](StepReport& report) {
             gpu_of(report, 5).xids = {{31, 90}};
         },
         "Xid 31 (GPU memory page fault) on GPU 0000:02:00.0 on n3 (rank 5) after 90 s"},
        {"an Xid several times: the first",
         [](StepReport& report) {
             gpu_of(report, 1).xids = {{999, 95}, {999, 96}};
             gpu_of(report, 5).xids = {{999, 90}};
         },
         "Xid 999 on GPU 0000:02:00.0 on n3 (rank 5) after 90 s, seen 3 times"},
        {"slow clocks",
         [](StepReport& report) {
             gpu_of(report, 5).slow_clocks = {{"hardware thermal", 720}};
         },
         "GPU 0000:02:00.0 on n3 (rank 5): hardware thermal slowed the clocks up to 20% of the "
         "time"},
        {"slow clocks for a moment",
         [](StepReport& report) {
             gpu_of(report, 5).slow_clocks = {{"hardware thermal", 300}};
         },
         ""},
        {"some time at the power cap is normal",
         [](StepReport& report) {
             gpu_of(report, 5).slow_clocks = {{"power cap", 1700}};
         },
         ""},
        {"all at the power cap",
         [](StepReport& report) {
             for (std::size_t rank = 0; rank < 8; ++rank) {
                 gpu_of(report, rank).slow_clocks = {{"power cap", 2700}};
             }
         },
         "all 8 GPUs: power cap slowed the clocks up to 75% of the time"},
        {"few lanes", [](StepReport& report) { gpu_of(report, 5).pcie_width = 8; },
         "GPU 0000:02:00.0 on n3 (rank 5): PCIe runs with 8 of 16 lanes"},
        {"unknown lanes", [](StepReport& report) { gpu_of(report, 5).pcie_width = 0; }, ""},
        {"never worked", [](StepReport& report) { set_busy(gpu_of(report, 5), 0); },
         "GPU 0000:02:00.0 on n3 (rank 5) never worked"},
        {"never worked, of no rank",
         [](StepReport& report) {
             set_busy(gpu_of(report, 5), 0);
             gpu_of(report, 5).ranks.clear();
         },
         "GPU 0000:02:00.0 on n3 (of no rank) never worked"},
        {"many never worked",
         [](StepReport& report) {
             for (std::size_t rank = 3; rank < 8; ++rank) set_busy(gpu_of(report, rank), 0);
         },
         "5 of 8 GPUs never worked, such as GPU 0000:02:00.0 on n2 (rank 3)"},
        {"not yet",
         [](StepReport& report) {
             set_busy(gpu_of(report, 5), 0);
             report.reports[2].is_complete = false;
         },
         "GPU 0000:02:00.0 on n3 (rank 5) did not work yet"},
    });
}

TEST(ReportFaults, ARankFailsFirst) {
    const auto fail = [](StepReport& report, std::size_t rank, double ended, int status) {
        rank_of(report, rank).ended = ended;
        rank_of(report, rank).status = status;
    };
    const auto lose_node_3 = [](StepReport& report, double last_write) {
        report.reports[2].is_complete = false;
        report.reports[2].seconds = last_write;
        for (RankReport& rank : report.reports[2].ranks) {
            rank.ended.reset();
            rank.status.reset();
        }
    };
    const auto kill_the_others = [&](StepReport& report, double time) {
        for (std::size_t rank = 0; rank < 8; ++rank) {
            if (rank / 2 != 2) fail(report, rank, time, 9);
        }
    };
    expect_findings({
        {"the earliest, also by the clock of its node",
         [&](StepReport& report) {
             fail(report, 2, 2000, 1 << 8);
             fail(report, 5, 1500, 9);
             fail(report, 6, 1500, 1 << 8);
             report.reports[3].began += 1;
         },
         "rank 5 on n3 failed first, after 25 min: it was killed by signal 9 (SIGKILL)"},
        {"not one that was asked to end",
         [&](StepReport& report) {
             fail(report, 2, 2000, 15);
             fail(report, 5, 2001, 1 << 8);
         },
         "rank 5 on n3 failed first, after 33 min: it ended with status 1"},
        {"out of memory",
         [&](StepReport& report) {
             fail(report, 5, 1500, 9);
             report.reports[2].out_of_memory = "out of memory (64.0 of 64.0 GiB)";
         },
         "rank 5 on n3 failed first, after 25 min: it was killed by signal 9 (SIGKILL), out of "
         "memory (64.0 of 64.0 GiB)"},
        {"all were killed",
         [&](StepReport& report) {
             for (std::size_t rank = 0; rank < 8; ++rank) fail(report, rank, 2000, 9);
         },
         ""},
        {"a node was lost, and Slurm killed the others",
         [&](StepReport& report) {
             lose_node_3(report, 1500);
             kill_the_others(report, 2000);
         },
         "n3 wrote nothing in the last 35 min, and may have been lost"},
        {"a node was lost, and Slurm killed the others at once",
         [&](StepReport& report) {
             lose_node_3(report, 3599);
             kill_the_others(report, 3600);
         },
         ""},
        {"one was killed, and others still run",
         [&](StepReport& report) {
             lose_node_3(report, 3550);
             fail(report, 2, 2000, 9);
         },
         "rank 2 on n2 failed first, after 33 min: it was killed by signal 9 (SIGKILL)"},
        {"a launcher's status",
         [&](StepReport& report) {
             fail(report, 4, 2002, 1 << 8);
             fail(report, 5, 2000, 1 << 8);
             rank_of(report, 5).task = rank_of(report, 4).task;
         },
         "rank 5 on n3 failed first, after 33 min: its launcher ended with status 1"},
        {"restarted",
         [](StepReport& report) {
             rank_of(report, 4).restarts = 1;
             rank_of(report, 5).restarts = 3;
         },
         "a launcher restarted ranks 4-5, up to 3 times"},
    });
}

}  // namespace
}  // namespace distgpu
