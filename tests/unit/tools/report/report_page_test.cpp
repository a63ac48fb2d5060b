// A report as a page.
#include "report/report_page.h"

#include "tools/report/made_up_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

namespace distgpu {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at) ++found;
    return found;
}

TEST(ReportPage, HasTheVerdictPlotsAndTables) {
    StepReport report = made_up_report(1, 2);
    starve(report, 1);
    rank_of(report, 0).restarts = 1;
    report.reports[0].notes = {"no RAPL"};
    const std::string page = report_page(report);
    EXPECT_THAT(page, HasSubstr("<title>step 5.0</title>"));
    EXPECT_THAT(page,
                HasSubstr("<p class=\"finding\">GPUs 66% busy; GPU of rank 1 on n1 38% busy: "));
    EXPECT_THAT(page, HasSubstr("<p>a launcher restarted rank 0"));
    for (const char* const title :
         {"GPUs busy", "Memory of the GPUs", "CPUs in use by each rank's own process",
          "CPUs in use by its data loaders and other processes",
          "Memory of each rank with these processes"}) {
        EXPECT_THAT(page, HasSubstr(std::string("<figcaption>") + title + "</figcaption>"));
    }
    EXPECT_THAT(page, HasSubstr("<title>rank 1: 0000:02:00.0 on n1</title>"));
    EXPECT_THAT(page, HasSubstr("<td data-of=\"BUSY\">38%</td>"));
    EXPECT_THAT(page, HasSubstr("<td data-of=\"LOADERS\">2.0</td>"));
    EXPECT_THAT(page, HasSubstr("<h2>What was not measured</h2>\n<p>no RAPL</p>"));
    // A page of its own: nothing is loaded or run.
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_EQ(count(page, "<figure>"), 5U);
    EXPECT_EQ(count(page, "<svg"), count(page, "</svg>"));
}

TEST(ReportPage, IsGreenIfNothingStandsOut) {
    EXPECT_THAT(report_page(made_up_report(1, 2)), HasSubstr("<p class=\"finding good\">GPUs 95%"));
    StepReport report = made_up_report(1, 2);
    report.reports.clear();
    EXPECT_THAT(report_page(report),
                HasSubstr("<p class=\"finding\">no report from any of 1 node"));
}

// The line is as high as the value: at 25% of the axis, 75 of 100 from the top. It ends where
// nothing was measured, and goes on after that.
TEST(ReportPage, DrawsValuesOverTime) {
    StepReport report = made_up_report(1, 1);
    NodeReport& node = report.reports[0];
    node.interval = 900;
    node.gpus[0].busy_series = {25, 100, std::nullopt, 0};
    EXPECT_THAT(report_page(report), HasSubstr("d=\"M125,75.0h0L125,75.0 375,0.0M875,100.0h0L875,"
                                               "100.0\""));
    node.gpus[0].busy_series.assign(4, std::nullopt);
    EXPECT_THAT(report_page(report), Not(HasSubstr("<figcaption>GPUs busy</figcaption>")));
}

// The third quarter of an hour has 200 s of a step of 2,000 s: its middle is at 1,900 s.
TEST(ReportPage, EndsTheLinesWithTheStep) {
    StepReport report = made_up_report(1, 1);
    NodeReport& node = report.reports[0];
    node.interval = 900;
    node.seconds = 2000;
    node.gpus[0].busy_series = {100, 100, 0, 0};
    EXPECT_THAT(report_page(report),
                HasSubstr("d=\"M225,0.0h0L225,0.0 675,0.0 950,100.0 1000,100.0\""));
}

TEST(ReportPage, PutsNodesOnOneClock) {
    StepReport report = made_up_report(2, 1);
    report.reports[0].seconds = 5400;
    report.reports[1].began += 1800;
    gpu_of(report, 1).busy_series = {50};
    // From 1800 s to 1860 s of 5400 s: 339 of 1000.
    EXPECT_THAT(report_page(report), HasSubstr("d=\"M339,50.0h0"));
}

TEST(ReportPage, HasAnAxisThatEndsAtARoundNumber) {
    StepReport report = made_up_report(1, 1);
    EXPECT_THAT(report_page(report),
                HasSubstr("<span>48 GiB</span><span>24 GiB</span><span>0 B</span>"));
    rank_of(report, 0).worker_cpu_series.assign(intervals, 14.8);
    EXPECT_THAT(report_page(report), HasSubstr("<span>20</span><span>10</span><span>0</span>"));
    EXPECT_THAT(report_page(report),
                HasSubstr("<span>0 s</span><span>30 min</span><span>1 h 0 min</span>"));
}

TEST(ReportPage, OfManyRanksStaysSmall) {
    StepReport report = made_up_report(125, 8);
    set_busy(gpu_of(report, 500), 38);
    gpu_of(report, 7).source = "";
    for (NodeReport& node : report.reports) {
        node.interval = 15;
        for (GpuReport& gpu : node.gpus) {
            gpu.busy_series.assign(max_intervals, gpu.busy.quantile(1));
            gpu.memory_series.assign(max_intervals, 40.123 * gib);
        }
        for (RankReport& rank : node.ranks) {
            rank.cpu_series.assign(max_intervals, 1.234);
            rank.worker_cpu_series.assign(max_intervals, 2.345);
            rank.memory_series.assign(max_intervals, 8.765 * gib);
        }
    }
    const std::string page = report_page(report);
    EXPECT_LT(page.size(), 400'000U);
    EXPECT_THAT(page, HasSubstr("<title>median of 1000</title>"));
    EXPECT_THAT(page, HasSubstr("<title>rank 500: 0000:05:00.0 on n63</title>"));
    EXPECT_EQ(count(page, "<title>"), 1 + 5 * 8U);  // the page's own, and of each line
    EXPECT_EQ(count(page, "<tr>"), 2 * 17U);
    EXPECT_EQ(count(page, "<i class="), 1000U);
    EXPECT_THAT(page, HasSubstr("<i class=\"s4\" title=\"rank 500: 0000:05:00.0 on n63: 38%\">"));
    EXPECT_THAT(page,
                HasSubstr("<i class=\"sx\" title=\"rank 7: 0000:08:00.0 on n1: not measured\">"));
}

// 9000 GPUs: each cell is of nine, a node's.
TEST(ReportPage, ACellOfManyGpusShowsTheIdlest) {
    StepReport report = made_up_report(1000, 9);
    set_busy(gpu_of(report, 13), 20);
    const std::string page = report_page(report);
    EXPECT_EQ(count(page, "<i class="), 1000U);
    EXPECT_THAT(page, HasSubstr("<i class=\"s2\" title=\"rank 9: 0000:01:00.0 on n2 to rank 17: "
                                "0000:09:00.0 on n2: 20%\">"));
}

// Names are from a file.
TEST(ReportPage, TakesNamesForText) {
    const std::string evil = "<script>alert(1)</script>\"'&<img src=x onerror=y>";
    StepReport report = made_up_report(2, 9);
    report.cluster = report.job = report.step = report.spec = evil;
    for (NodeReport& node : report.reports) {
        node.node = evil;
        node.notes = {evil};
        for (GpuReport& gpu : node.gpus) {
            gpu.pci = gpu.uuid = gpu.model = gpu.source = evil;
            gpu.slow_clocks = {{evil, 3000}};
        }
        for (RankReport& rank : node.ranks) rank.program = evil;
    }
    gpu_of(report, 1).ranks = {0, 1};
    const std::string page = report_page(report);
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_GT(count(page, "&lt;script&gt;"), 50U);
    EXPECT_TRUE(
        std::ranges::all_of(page, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}

}  // namespace
}  // namespace distgpu
