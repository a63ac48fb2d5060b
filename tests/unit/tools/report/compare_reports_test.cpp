// Two reports side by side.
#include "report/compare_reports.h"

#include "tools/report/made_up_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ReportComparison, HasTheLargestChangeFirst) {
    const StepReport before = made_up_report(1, 2);
    StepReport after = before;
    after.job = after.step = "6.0";
    after.reports[0].seconds = 2700;  // -25%
    for (std::size_t rank = 0; rank < 2; ++rank) {
        set_busy(gpu_of(after, rank), 99);
        gpu_of(after, rank).joules = 200 * 3600;        // a third less
        rank_of(after, rank).worker_cpu_seconds = 900;  // an eighth
        rank_of(after, rank).bytes_read *= 4;
        rank_of(after, rank).first_gpu.reset();
        rank_of(after, rank).bytes_written = 0;
    }
    EXPECT_EQ(compare_reports(before, after),
              R"(before:  step 5.0 on cluster hpc (pytorch,report): 2 ranks on 1 node, 1 h 0 min
after:   step 6.0 on cluster hpc (pytorch,report): 2 ranks on 1 node, 45 min

  QUANTITY                 BEFORE     AFTER         CHANGE
  written by a rank        1.0 GiB    0 B
  CPU time of its loaders  2 h 0 min  15 min        -87.5%
  read by a rank           100 GiB    400 GiB       +300.0%
  energy per GPU           300 Wh     200 Wh        -33.3%
  time                     1 h 0 min  45 min        -25.0%
  GPU busy                 95%        99%           +4.0 points
  memory of a GPU          40 GiB     40 GiB        none
  CPU time of a rank       1 h 0 min  1 h 0 min     none
  memory of a rank         8.0 GiB    8.0 GiB       none
  TCP of a rank            2.0 MiB    2.0 MiB       none
  first GPU work after     20 s       not measured
)");
}

TEST(ReportComparison, SaysWhatIsNotTheSameInBoth) {
    const StepReport before = made_up_report(1, 2);
    StepReport after = made_up_report(2, 1);
    gpu_of(after, 1).model = "NVIDIA A100";
    EXPECT_THAT(compare_reports(before, after),
                HasSubstr("\nnot the same in both, which can explain any change below:\n"
                          "  other models of GPUs: NVIDIA H100 before, NVIDIA A100, NVIDIA H100 "
                          "after\n"
                          "  other number of nodes: 1 before, 2 after\n"
                          "\n"));
    after = made_up_report(1, 3);
    after.reports[0].is_complete = false;
    after.spec = "torchrun,report";
    after.nodes = 2;
    EXPECT_THAT(compare_reports(before, after),
                HasSubstr("  other number of GPUs: 2 before, 3 after\n"
                          "  other number of ranks: 2 before, 3 after\n"
                          "  other number of nodes: 1 before, 2 after\n"
                          "  other --distgpu: pytorch,report before, torchrun,report after\n"
                          "  after: reports of 1 of 2 nodes only\n"
                          "  after: written before the step's end\n"));
    EXPECT_THAT(compare_reports(before, before), Not(HasSubstr("not the same")));
}

// Twice as many GPUs that each do the same are no change.
TEST(ReportComparison, ComparesMeansPerGpuAndRank) {
    const std::string text = compare_reports(made_up_report(1, 2), made_up_report(1, 4));
    EXPECT_THAT(text, HasSubstr("  energy per GPU           300 Wh     300 Wh     none\n"));
    EXPECT_THAT(text, HasSubstr("  CPU time of a rank       1 h 0 min  1 h 0 min  none\n"));
}

TEST(ReportComparison, NeverComparesWithWhatWasNotMeasured) {
    StepReport after = made_up_report(1, 1);
    gpu_of(after, 0) = {.pci = "0000:01:00.0", .model = "NVIDIA H100"};
    const std::string text = compare_reports(made_up_report(1, 1), after);
    EXPECT_THAT(text, HasSubstr("  GPU busy                 95%        not measured\n"));
    EXPECT_THAT(text, HasSubstr("  energy per GPU           300 Wh     not measured\n"));
    EXPECT_THAT(text, HasSubstr("  memory of a GPU          40 GiB     not measured\n"));
}

}  // namespace
}  // namespace distgpu
