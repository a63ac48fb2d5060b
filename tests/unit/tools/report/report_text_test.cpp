// A report on one screen of a terminal.
#include "report/report_text.h"

#include "tools/report/made_up_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace distgpu {
namespace {

using testing::HasSubstr;
using testing::Not;

void expect_one_screen(const std::string& text, const char* title) {
    std::istringstream lines(text);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
        EXPECT_LE(line.size(), 80U) << title << ": " << line;
    }
    EXPECT_LE(count, 24U) << title << ":\n" << text;
}

TEST(ReportText, HasVerdictTablesAndCost) {
    StepReport report = made_up_report(1, 2);
    starve(report, 1);
    rank_of(report, 0).restarts = 1;
    gpu_of(report, 0).joules.reset();
    rank_of(report, 1).first_gpu.reset();
    report.reports[0].notes = {"no RAPL"};
    EXPECT_EQ(report_text(report, false),
              R"(GPUs 66% busy; GPU of rank 1 on n1 38% busy: its data loaders use 14.8 of its 16
CPUs
  a launcher restarted rank 0, up to 1 time

step 5.0 on cluster hpc (pytorch,report): 2 ranks on 1 node, 1 h 0 min

  GPU           NODE  RANKS  BUSY  P10  MEMORY  OF   ENERGY
  0000:01:00.0  n1    0      95%   95%  40G     80G  -
  0000:02:00.0  n1    1      38%   38%  40G     80G  300 Wh

  RANK  NODE  CORES  LOADERS  MEMORY  READ  WRITTEN  TCP   1ST GPU
  0     n1    1.0    2.0      8.0G    100G  1.0G     2.0M  20 s
  1     n1    1.0    2.0      8.0G    100G  1.0G     2.0M  -

the report took 0.10% of a CPU per node and at most 12 MiB
  no RAPL
)");
    EXPECT_THAT(report_text(report, true), HasSubstr("\x1b[1mGPUs 66% busy; "));
}

TEST(ReportText, DoesNotShowWhatWasNotMeasuredAsZero) {
    StepReport report = made_up_report(1, 2);
    gpu_of(report, 1) = {.pci = "0000:02:00.0", .ranks = {1}};
    EXPECT_THAT(report_text(report, false), HasSubstr("  0000:02:00.0  n1    1      -     -    -"
                                                      "       -    -\n"));
}

// Of 1000 GPUs, rank 0's has 10%, rank 999's 100%, and the other 998 have 95%.
TEST(ReportText, OfManyRanksHasTheExtremesAndTheMeanOfTheOthers) {
    StepReport report = made_up_report(125, 8);
    set_busy(gpu_of(report, 0), 10);
    set_busy(gpu_of(report, 999), 100);
    const std::string text = report_text(report, false);
    EXPECT_THAT(text, HasSubstr("  0000:01:00.0  n1      0      10%   10%"));
    EXPECT_THAT(text, HasSubstr("  994 more      (mean)         95%   95%"));
    EXPECT_THAT(text, HasSubstr("  0000:08:00.0  n125    999    100%  100%"));
    EXPECT_LT(text.find("n1 "), text.find("994 more"));
    EXPECT_LT(text.find("994 more"), text.find("n125"));
    EXPECT_THAT(text, HasSubstr("  994 more  (mean)  1.0    2.0 "));
    expect_one_screen(text, "1000 ranks");
}

TEST(ReportText, IsOneScreenWhateverIsInIt) {
    expect_one_screen(report_text(made_up_report(1, 1), false), "one rank");
    expect_one_screen(report_text(made_up_report(2, 8), false), "16 ranks");
    StepReport worst = made_up_report(2, 8);
    worst.nodes = 3;
    worst.job = worst.step = "12345678_1234";
    worst.reports[1].is_complete = false;
    for (NodeReport& node : worst.reports) {
        node.node = "gpu-partition-" + node.node + ".a.very.long.domain.name.example.org";
        for (int i = 0; i < 9; ++i) {
            node.notes.push_back(
                "a note of several words that is longer than one line of the screen, "
                "number " +
                std::to_string(i));
        }
    }
    for (std::uint32_t rank = 0; rank < 16; ++rank) {
        gpu_of(worst, rank).xids = {{rank, 10}};
        gpu_of(worst, rank).lost = 20;
        gpu_of(worst, rank).slow_clocks = {{"hardware thermal", 2000}};
        for (std::uint32_t other = 0; other < 100; ++other) {
            gpu_of(worst, rank).ranks.push_back(1000 + 2 * other);
        }
    }
    const std::string text = report_text(worst, false);
    EXPECT_THAT(text, HasSubstr(" more\n"));
    // A list of ranks cannot be longer than a line, whatever a file contains.
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
    for (std::uint32_t rank = 0; rank < 16; ++rank) {
        gpu_of(worst, rank).ranks = {rank};
        gpu_of(worst, rank).joules = 1e300;
        rank_of(worst, rank).cpu_seconds = rank_of(worst, rank).worker_cpu_seconds = 1e300;
    }
    expect_one_screen(report_text(worst, false), "all that can be wrong");
}

TEST(ReportText, WithoutReportsHasNoTables) {
    StepReport report = made_up_report(2, 2);
    report.reports.clear();
    EXPECT_EQ(report_text(report, false),
              "no report from any of 2 nodes\n\nstep 5.0 on cluster hpc (pytorch,report): 0 ranks "
              "on 2 nodes, 0 s\n");
}

TEST(ReportText, OfANodeWithoutGpusHasOneTable) {
    StepReport report = made_up_report(1, 2);
    report.reports[0].gpus.clear();
    const std::string text = report_text(report, false);
    EXPECT_THAT(text, Not(HasSubstr("ENERGY")));
    EXPECT_THAT(text, HasSubstr("  RANK  NODE"));
}

TEST(ReportText, NoNameSteersTheTerminal) {
    const std::string evil = "\x1b[2Jn1\n\t\x7f";
    StepReport report = made_up_report(2, 2);
    report.cluster = report.step = report.job = report.spec = evil;
    for (NodeReport& node : report.reports) {
        node.node = evil;
        node.notes = {evil};
        for (GpuReport& gpu : node.gpus) gpu.pci = gpu.model = gpu.source = evil;
        for (RankReport& rank : node.ranks) rank.program = evil;
    }
    gpu_of(report, 1).lost = 10;
    const std::string text = report_text(report, false);
    EXPECT_TRUE(std::ranges::all_of(text, [](char c) {
        return c == '\n' || (c >= ' ' && c <= '~');
    })) << text;
}

}  // namespace
}  // namespace distgpu
