// Memory that grows steadily, and memory that does not.
#include "tools/report/expect_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

TEST(ReportGrowth, MemoryGrows) {
    // From 40 GiB at the beginning by 1/8 GiB a minute: 47.4 GiB in the last minute, and the 32.6
    // GiB until 80 are full take 4.3 hours.
    const auto grow_gpu = [](StepReport& report) {
        for (std::size_t i = 0; i < intervals; ++i) {
            gpu_of(report, 3).memory_series[i] = (40 + static_cast<double>(i) / 8) * gib;
        }
    };
    const auto grow_rank = [](StepReport& report, std::size_t rank, double per_minute) {
        for (std::size_t i = 0; i < intervals; ++i) {
            rank_of(report, rank).memory_series[i] =
                (8 + static_cast<double>(i) * per_minute) * gib;
        }
    };
    expect_findings({
        {"of a GPU", grow_gpu,
         "memory of GPU 0000:02:00.0 on n2 (rank 3) grows by 7.5 GiB an hour, full (80 GiB) 4 h 21 "
         "min later"},
        {"of a rank", [&](StepReport& report) { grow_rank(report, 3, 1.0 / 60); },
         "memory of rank 3 on n2 grows by 1.0 GiB an hour, to 9.0 GiB at its end"},
        {"of ranks: the fastest is named",
         [&](StepReport& report) {
             for (std::size_t rank = 0; rank < 8; ++rank) {
                 grow_rank(report, rank, rank == 6 ? 0.1 : 0.05);
             }
         },
         "memory of rank 6 on n4 grows by 6.0 GiB an hour, to 14 GiB at its end, and that of 7 "
         "other ranks"},
        {"of one rank among others: it shows soon",
         [&](StepReport& report) {
             grow_rank(report, 3, 0.1);
             for (NodeReport& node : report.reports) node.interval = 2;
         },
         "memory of rank 3 on n2 grows by 180 GiB an hour, to 14 GiB at its end"},
        {"while its GPU does not work yet",
         [&](StepReport& report) {
             grow_rank(report, 3, 0.1);
             rank_of(report, 3).first_gpu = 100;
             for (NodeReport& node : report.reports) node.interval = 2;
         },
         ""},
        {"of its GPU nothing is known",
         [&](StepReport& report) {
             grow_rank(report, 3, 0.1);
             rank_of(report, 3).first_gpu.reset();
             for (NodeReport& node : report.reports) node.interval = 2;
         },
         ""},
        {"a cache that levels off",
         [](StepReport& report) {
             for (std::size_t i = 0; i < intervals; ++i) {
                 const double left = 1 / (1 + static_cast<double>(i) / 8);
                 rank_of(report, 3).memory_series[i] = (20 - 12 * left) * gib;
             }
         },
         ""},
        {"each epoch frees what it took",
         [](StepReport& report) {
             for (std::size_t i = 0; i < intervals; ++i) {
                 rank_of(report, 3).memory_series[i] = (8 + static_cast<double>(i % 12)) * gib;
             }
         },
         ""},
        {"by a little", [&](StepReport& report) { grow_rank(report, 3, 0.001); }, ""},
        {"of most ranks, in eight minutes",
         [&](StepReport& report) {
             for (std::size_t rank = 0; rank < 5; ++rank) grow_rank(report, rank, 0.1);
             for (NodeReport& node : report.reports) node.interval = 8;
         },
         ""},
    });
}

}  // namespace
}  // namespace distgpu
