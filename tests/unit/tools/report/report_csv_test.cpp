// A report as CSV (RFC 4180).
#include "report/report_csv.h"

#include "tools/report/made_up_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace distgpu {
namespace {

using testing::HasSubstr;

TEST(ReportCsv, HasARowForEachGpuAndRank) {
    StepReport report = made_up_report(1, 1);
    gpu_of(report, 0).xids = {{31, 5}, {13, 6}};
    EXPECT_EQ(
        report_csv(report),
        "job,step,node,kind,gpu,rank,model,busy_mean,busy_p10,memory_peak,memory_total,joules,"
        "xids,lost_after,cpus,cpu_seconds,worker_cpu_seconds,bytes_read,bytes_written,"
        "bytes_exchanged,first_gpu_after,ended_after,wait_status,restarts\r\n"
        "5,5.0,n1,gpu,0000:01:00.0,0,NVIDIA H100,95,95,42949672960,85899345920,1080000,31 13,"
        ",,,,,,,,,,\r\n"
        "5,5.0,n1,rank,0000:01:00.0,0,,95,,8589934592,,,,,16,3600,7200,107374182400,"
        "1073741824,2097152,20,3600,0,0\r\n");
}

TEST(ReportCsv, CellsOfWhatWasNotMeasuredAreEmpty) {
    StepReport report = made_up_report(1, 1);
    gpu_of(report, 0) = {.pci = "0000:01:00.0", .ranks = {0, 1}};
    RankReport& rank = rank_of(report, 0);
    rank.first_gpu.reset();
    rank.ended.reset();
    rank.status.reset();
    const std::string text = report_csv(report);
    EXPECT_THAT(text, HasSubstr("gpu,0000:01:00.0,0 1,,,,,,,,,,,,,,,,,,\r\n"));
    EXPECT_THAT(text, HasSubstr("rank,0000:01:00.0,0,,,,8589934592,,,,,16,3600,7200,107374182400,"
                                "1073741824,2097152,,,,0\r\n"));
}

TEST(ReportCsv, EachRowHasAsManyFields) {
    const std::string text = report_csv(made_up_report(2, 3));
    EXPECT_EQ(std::ranges::count(text, '\n'), 1 + 2 * 3 * 2);
    EXPECT_EQ(std::ranges::count(text, ','), 23 * (1 + 2 * 3 * 2));
}

TEST(ReportCsv, FieldsWithCommasAndQuotesAreQuoted) {
    StepReport report = made_up_report(1, 1);
    gpu_of(report, 0).model = "a \"b\", c";
    report.reports[0].node = "n\r\n1";
    report.job = "5,6";
    EXPECT_THAT(report_csv(report),
                HasSubstr("\r\n\"5,6\",5.0,n??1,gpu,0000:01:00.0,0,\"a \"\"b\"\", c\",95,"));
}

}  // namespace
}  // namespace distgpu
