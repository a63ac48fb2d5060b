#include "report/node_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double began = 1000;  // seconds since 1970
constexpr const char* pci = "0000:07:00.0";

const RankProcess rank_3{
    .rank = 3, .task = 1, .pid = 70, .begin = 9, .program = "python3", .cpus = 4};

NodeRecord empty_record() {
    return {"n1", began, 5};
}

TEST(NodeRecord, SumsWhatARankUses) {
    NodeRecord record = empty_record();
    record.add(0, rank_3, {.cpu_seconds = 1, .worker_cpu_seconds = 2, .memory = 100});
    record.add(5, rank_3, {.cpu_seconds = 6, .worker_cpu_seconds = 12, .memory = 300});
    record.add(10, rank_3, {.cpu_seconds = 8, .worker_cpu_seconds = 12, .memory = 200});
    const NodeReport report = record.report(12, false);
    ASSERT_EQ(report.ranks.size(), 1U);
    const RankReport& rank = report.ranks.front();
    EXPECT_EQ(rank.rank, 3U);
    EXPECT_EQ(rank.task, 1U);
    EXPECT_EQ(rank.program, "python3");
    EXPECT_EQ(rank.cpu_seconds, 8);
    EXPECT_EQ(rank.worker_cpu_seconds, 12);
    EXPECT_EQ(rank.memory_peak, 300U);
    EXPECT_THAT(rank.cpu_series, ElementsAre(0.2, 1, 0.4));
    EXPECT_THAT(rank.worker_cpu_series, ElementsAre(0.4, 2, 0));
    EXPECT_THAT(rank.memory_series, ElementsAre(100, 300, 200));
    EXPECT_EQ(report.seconds, 12);
    EXPECT_FALSE(report.is_complete);
}

// A worker that nobody waited for takes its counters with it.
TEST(NodeRecord, KeepsWhatWorkersThatAreGoneHaveUsed) {
    NodeRecord record = empty_record();
    record.add(0, rank_3, {.worker_cpu_seconds = 10, .bytes_read = 50});
    record.add(5, rank_3, {.worker_cpu_seconds = 4, .bytes_read = 20});
    record.add(10, rank_3, {.worker_cpu_seconds = 11, .bytes_read = 55});
    const RankReport rank = record.report(10, false).ranks.front();
    EXPECT_EQ(rank.worker_cpu_seconds, 11);
    EXPECT_EQ(rank.bytes_read, 55U);
    EXPECT_THAT(rank.worker_cpu_series, ElementsAre(2, 0, 0.2));
}

TEST(NodeRecord, CountsARestartAndWhatWasUsedBefore) {
    NodeRecord record = empty_record();
    record.add(0, rank_3, {.cpu_seconds = 10, .bytes_written = 7});
    record.add_exchanged(0, 3, 100);
    record.end_task(1, 1, 9, 1);
    RankProcess again = rank_3;
    again.pid = 71;
    record.add(5, again, {.cpu_seconds = 2, .bytes_written = 1});
    record.add_exchanged(5, 3, 300);
    record.add(10, again, {.cpu_seconds = 3, .bytes_written = 1});
    const RankReport rank = record.report(10, false).ranks.front();
    EXPECT_EQ(rank.restarts, 1U);
    EXPECT_EQ(rank.cpu_seconds, 13);
    EXPECT_EQ(rank.bytes_written, 8U);
    EXPECT_EQ(rank.bytes_exchanged, 400U);
    EXPECT_EQ(rank.first_bytes, 0);
    EXPECT_EQ(rank.ended, std::nullopt);
    EXPECT_EQ(rank.status, std::nullopt);
}

// The kernel keeps no wait of a process that has ended.
TEST(NodeRecord, CountsWhatWaitedForACpu) {
    NodeRecord record = empty_record();
    record.add(0, rank_3, {.cpu_wait_seconds = 1, .worker_cpu_wait_seconds = 20});
    record.add(5, rank_3, {.cpu_wait_seconds = 2, .worker_cpu_wait_seconds = 10});
    record.add(10, rank_3, {.cpu_wait_seconds = 2, .worker_cpu_wait_seconds = 15});
    const RankReport rank = record.report(10, false).ranks.front();
    EXPECT_THAT(rank.cpu_wait_series, ElementsAre(0.2, 0.2, 0));
    EXPECT_THAT(rank.worker_cpu_wait_series, ElementsAre(4, 0, 1));
}

// Its task's number is that of no rank, or of another one.
TEST(NodeRecord, ForgetsALauncherWhenItsRanksAreSeen) {
    NodeRecord record = empty_record();
    record.add(0, {.rank = 0, .task = 0, .has_own_rank = false, .pid = 69}, {});
    record.add(0, {.rank = 1, .task = 1, .has_own_rank = false, .pid = 70}, {});
    record.add(0, {.processes = {{70, {pci}}}, .gpus = {{.pci = pci, .source = "NVML"}}});
    EXPECT_THAT(record.report(0, false).ranks, SizeIs(2));
    record.add(5, {.rank = 1, .task = 0, .pid = 72}, {});
    record.add(5, {.rank = 2, .task = 1, .pid = 71}, {});
    record.add(10, {.rank = 2, .task = 1, .pid = 71}, {});
    const NodeReport report = record.report(10, false);
    ASSERT_THAT(report.ranks, SizeIs(2));
    EXPECT_EQ(report.ranks[0].task, 0U);
    EXPECT_EQ(report.ranks[0].restarts, 0U);
    EXPECT_EQ(report.ranks[1].rank, 2U);
    EXPECT_THAT(report.gpus.at(0).ranks, IsEmpty());
}

// Its task's number is that of no rank, of another one, or of one of another task.
TEST(NodeRecord, IgnoresALauncherThatOutlivesItsRanks) {
    NodeRecord record = empty_record();
    record.add(0, {.rank = 1, .task = 0, .pid = 71}, {});
    record.add(0, {.rank = 2, .task = 2, .pid = 72}, {});
    const NodeReport before = record.report(5, false);
    record.add(5, {.rank = 0, .task = 0, .has_own_rank = false, .pid = 61}, {});
    record.add(5, {.rank = 1, .task = 1, .has_own_rank = false, .pid = 62}, {});
    record.add(5, {.rank = 2, .task = 2, .has_own_rank = false, .pid = 63}, {});
    EXPECT_EQ(record.report(5, false), before);
}

TEST(NodeRecord, EndsTheRanksOfATask) {
    NodeRecord record = empty_record();
    record.add(0, rank_3, {});
    record.add(0, {.rank = 4, .task = 2, .pid = 80}, {});
    record.end_task(7, 1, 256, std::nullopt);
    const NodeReport report = record.report(8, true);
    EXPECT_EQ(report.ranks[0].ended, 7);
    EXPECT_EQ(report.ranks[0].status, 256);
    EXPECT_EQ(report.ranks[1].ended, std::nullopt);
    EXPECT_TRUE(report.is_complete);
}

// As one does that cannot import its modules.
TEST(NodeRecord, HasTheEndOfARankThatWasNeverSeen) {
    NodeRecord record = empty_record();
    record.add(0, rank_3, {});
    record.end_task(0.1, 2, 256, 4);
    record.end_task(0.2, 5, 256, std::nullopt);  // a launcher's
    const NodeReport report = record.report(8, true);
    ASSERT_EQ(report.ranks.size(), 2U);
    EXPECT_EQ(report.ranks[1].rank, 4U);
    EXPECT_EQ(report.ranks[1].task, 2U);
    EXPECT_EQ(report.ranks[1].ended, 0.1);
    EXPECT_EQ(report.ranks[1].status, 256);
}

GpuReadings readings(GpuReading reading) {
    reading.pci = pci;
    reading.source = "NVML";
    return {.processes = {{70, {pci}}}, .gpus = {std::move(reading)}};
}

// The library also has samples of the step before, and two ranks may share a GPU.
TEST(NodeRecord, CountsTheSamplesOfTheStepOnce) {
    NodeRecord record = empty_record();
    record.add(0, rank_3, {});
    record.add(0, {.rank = 4, .task = 1, .pid = 72}, {});
    GpuReadings both = readings({.times = {998, 1001, 1004, 1007}, .busy = {99, 0, 40, 80}});
    both.processes.push_back({72, {pci}});
    record.add(8, both);
    const NodeReport report = record.report(8, false);
    ASSERT_EQ(report.gpus.size(), 1U);
    const GpuReport& gpu = report.gpus.front();
    EXPECT_EQ(gpu.busy.samples(), 3U);
    EXPECT_EQ(gpu.busy.mean(), 40);
    EXPECT_THAT(gpu.ranks, ElementsAre(3, 4));
    EXPECT_THAT(gpu.busy_series, ElementsAre(20U, 80U));
    EXPECT_EQ(report.ranks[0].first_gpu, 4);
}

// Not measured is not idle.
TEST(NodeRecord, KnowsNothingOfAGpuWithoutSamples) {
    NodeRecord record = empty_record();
    record.add(0, rank_3, {});
    record.add(5, readings({}));
    const NodeReport report = record.report(5, false);
    EXPECT_EQ(report.gpus.front().busy.samples(), 0U);
    EXPECT_THAT(report.gpus.front().busy_series, IsEmpty());
    EXPECT_EQ(report.gpus.front().joules, std::nullopt);
    EXPECT_EQ(report.ranks.front().first_gpu, std::nullopt);
}

TEST(NodeRecord, TakesTheDifferenceOfEnergyAlsoWhenTheDriverIsLoadedAgain) {
    NodeRecord record = empty_record();
    for (const auto& [time, joules] : {std::pair(0.0, 1000.0), {5.0, 1500.0}, {10.0, 200.0}}) {
        record.add(time, readings({.joules = joules}));
    }
    EXPECT_EQ(record.report(10, false).gpus.front().joules, 700);
}

TEST(NodeRecord, SumsPowerWhereTheGpuCountsNoEnergy) {
    NodeRecord record = empty_record();
    for (const double time : {0.0, 5.0, 10.0}) record.add(time, readings({.watts = 300}));
    EXPECT_EQ(record.report(10, false).gpus.front().joules, 3000);
}

TEST(NodeRecord, KeepsThePeakTheNarrowestLinkAndEachError) {
    NodeRecord record = empty_record();
    record.add(0, readings({.memory_total = 80, .memory_used = 30, .pcie_width = 16}));
    record.add(5, readings({.memory_total = 80,
                            .memory_used = 60,
                            .reasons = {"power cap"},
                            .xids = {31},
                            .pcie_width = 8,
                            .pcie_width_max = 16}));
    record.add(10, readings({.memory_total = 80, .memory_used = 10, .pcie_width = 16}));
    const GpuReport gpu = record.report(10, false).gpus.front();
    EXPECT_EQ(gpu.memory_peak, 60U);
    EXPECT_EQ(gpu.pcie_width, 8U);
    EXPECT_THAT(gpu.slow_clocks, ElementsAre(SlowClock{"power cap", 5}));
    EXPECT_THAT(gpu.xids, ElementsAre(XidEvent{31, 5}));
    EXPECT_EQ(gpu.lost, std::nullopt);
}

TEST(NodeRecord, SaysSinceWhenAGpuIsLost) {
    NodeRecord record = empty_record();
    record.add(0, readings({.memory_total = 80, .memory_used = 30}));
    record.add(5, readings({.is_lost = true}));
    record.add(10, readings({.is_lost = true}));
    const GpuReport gpu = record.report(10, false).gpus.front();
    EXPECT_EQ(gpu.lost, 5);
    EXPECT_EQ(gpu.memory_total, 80U);
}

// Two days of samples take no more room than twenty minutes.
TEST(NodeRecord, IsBounded) {
    NodeRecord record = empty_record();
    double cpu_seconds = 0;
    for (double time = 0; time < 172'800; time += 5) {
        record.add(time, rank_3, {.cpu_seconds = cpu_seconds});
        cpu_seconds += 5;
    }
    const NodeReport report = record.report(172'800, false);
    EXPECT_EQ(report.interval, 1280);
    EXPECT_EQ(report.ranks.front().cpu_series.size(), 135U);
    EXPECT_EQ(report.ranks.front().cpu_series[50], 1);
    for (std::uint32_t i = 0; i < 2000; ++i) record.add(172'801, {.rank = i, .pid = 100}, {});
    for (int i = 0; i < 100; ++i) record.add_note("note " + std::to_string(i));
    EXPECT_EQ(record.report(172'802, false).ranks.size(), max_recorded_ranks);
    EXPECT_EQ(record.report(172'802, false).notes.size(), 16U);
}

}  // namespace
}  // namespace distgpu
