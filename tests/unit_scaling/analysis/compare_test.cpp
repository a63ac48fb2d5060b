// Thresholds and baselines: what fails, what passes, what was not there to be judged.
#include "analysis/compare.h"

#include "made_up_results.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace distgpu::scaling {
namespace {

// One node of two ranks, for which the factor of all-reduce is 1: 100 and 200 B/s.
Results small_run() {
    auto results = made_up_results(2, 2);
    results.backend = "nccl";
    results.fingerprint = {{"NCCL", "2.30.7"}, {"driver", "575.1"}};
    const auto group = add_nodes(results, 1);
    add_measurement(results, group, {.bytes = 100, .seconds = 1});
    add_measurement(results, group, {.bytes = 400, .seconds = 2});
    return results;
}

Threshold at_least(double bandwidth, std::uint64_t bytes = 100, std::uint32_t ranks = 2) {
    return {.collective = Collective::all_reduce,
            .bytes = bytes,
            .ranks = ranks,
            .bandwidth = bandwidth};
}

TEST(Compare, BelowTheThresholdIsAViolation) {
    const auto comparison = compare(small_run(), {at_least(100.5)});
    ASSERT_EQ(comparison.violations.size(), 1);
    EXPECT_EQ(comparison.violations[0].measurement, 0);
    EXPECT_DOUBLE_EQ(comparison.violations[0].bandwidth, 100);
    EXPECT_EQ(comparison.violations[0].threshold, at_least(100.5));
    EXPECT_EQ(comparison.passed, 0);
    EXPECT_TRUE(comparison.waived.empty());
}

TEST(Compare, AtTheThresholdPasses) {
    const auto comparison = compare(small_run(), {at_least(100), at_least(199, 400)});
    EXPECT_TRUE(comparison.violations.empty());
    EXPECT_EQ(comparison.passed, 2);
}

TEST(Compare, WhatWasNotMeasuredIsWaived) {
    auto broadcast = at_least(1);
    broadcast.collective = Collective::broadcast;
    const std::vector<Threshold> thresholds = {at_least(1, 800), at_least(1, 100, 4), broadcast};
    const auto comparison = compare(small_run(), thresholds);
    EXPECT_EQ(comparison.waived, thresholds);
    EXPECT_TRUE(comparison.violations.empty());
    EXPECT_EQ(comparison.passed, 0);
}

// A person's threshold is of any operation; a baseline's is of what it measured.
TEST(Compare, TheOperationCountsWhereItIsNamed) {
    auto results = small_run();
    add_measurement(results, 0, {.bytes = 100, .seconds = 2, .op = Op::max});
    EXPECT_EQ(compare(results, {at_least(100)}).violations.size(), 1U);
    auto sums = at_least(100);
    sums.op = Op::sum;
    EXPECT_TRUE(compare(results, {sums}).violations.empty());
    const auto thresholds = thresholds_of(results, 0);
    ASSERT_EQ(thresholds.size(), 3U);
    EXPECT_EQ(thresholds[2].op, Op::max);
    EXPECT_EQ(compare(results, thresholds).passed, 3U);
}

TEST(Compare, EachMeasurementForItselfAndNoAverage) {
    auto results = small_run();
    add_measurement(results, 0, {.in_place = true, .bytes = 100, .seconds = 0.1});
    add_measurement(results, 0, {.type = DataType::f16, .bytes = 100, .seconds = 4});
    // 100, 1000 and 25 B/s: two fail, however high the third is.
    const auto comparison = compare(results, {at_least(150)});
    ASSERT_EQ(comparison.violations.size(), 2);
    EXPECT_EQ(comparison.violations[0].measurement, 0);
    EXPECT_EQ(comparison.violations[1].measurement, 3);
    EXPECT_EQ(comparison.passed, 1);
}

TEST(IsScalingGroup, GpusAndNodesOnly) {
    EXPECT_TRUE(is_scaling_group({Group::Kind::gpus, {}, 0, 0}));
    EXPECT_TRUE(is_scaling_group({Group::Kind::nodes, {}, 0, 0}));
    EXPECT_FALSE(is_scaling_group({Group::Kind::pair, {}, 0, 0}));
    EXPECT_FALSE(is_scaling_group({Group::Kind::rail, {}, 0, 0}));
}

TEST(Compare, PairsAndRailsHaveNoThresholds) {
    auto results = made_up_results(2, 1);
    for (const auto kind : {Group::Kind::pair, Group::Kind::rail}) {
        const auto group =
            add_group(results, {.kind = kind, .nodes = {0, 1}, .ranks = 2, .number = 0});
        add_measurement(results, group, {.bytes = 100, .seconds = 1});
    }
    EXPECT_EQ(compare(results, {at_least(1e9)}).waived.size(), 1);
    EXPECT_TRUE(thresholds_of(results, 0).empty());
}

TEST(ThresholdsOf, WithinTheTolerance) {
    // 100 B/s against 104 less 5 % = 98.8, and 200 against 212 less 5 % = 201.4.
    auto baseline = small_run();
    baseline.measurements[0].time.median = 100.0 / 104;
    baseline.measurements[1].time.median = 400.0 / 212;
    const auto comparison = compare(small_run(), thresholds_of(baseline, 0.05));
    EXPECT_EQ(comparison.passed, 1);
    ASSERT_EQ(comparison.violations.size(), 1);
    EXPECT_EQ(comparison.violations[0].measurement, 1);
    EXPECT_NEAR(comparison.violations[0].threshold.bandwidth, 201.4, 1e-9);
}

TEST(ThresholdsOf, ARunPassesAgainstItself) {
    const auto comparison = compare(small_run(), thresholds_of(small_run(), 0));
    EXPECT_EQ(comparison.passed, 2);
    EXPECT_TRUE(comparison.violations.empty());
    EXPECT_TRUE(comparison.waived.empty());
}

TEST(ThresholdsOf, AMeasurementThatStandsTwiceIsJudgedOnce) {
    auto baseline = small_run();
    add_measurement(baseline, 0, {.bytes = 100, .seconds = 9});
    EXPECT_EQ(thresholds_of(baseline, 0), thresholds_of(small_run(), 0));
}

TEST(ThresholdsOf, TypePlacementAndKindOfGroupAreKeptApart) {
    auto baseline = small_run();
    auto results = small_run();
    // Slower than the baseline's float out of place, and of another kind each.
    add_measurement(results, 0, {.in_place = true, .bytes = 100, .seconds = 9});
    add_measurement(results, 0, {.type = DataType::i8, .bytes = 100, .seconds = 9});
    const auto gpus =
        add_group(results, {.kind = Group::Kind::gpus, .nodes = {0}, .ranks = 2, .number = 2});
    add_measurement(results, gpus, {.bytes = 100, .seconds = 9});
    const auto comparison = compare(results, thresholds_of(baseline, 0));
    EXPECT_TRUE(comparison.violations.empty());
    EXPECT_EQ(comparison.passed, 2);
}

TEST(ThresholdsOf, WhatOnlyTheBaselineHasIsWaived) {
    auto results = small_run();
    results.measurements.pop_back();
    const auto comparison = compare(results, thresholds_of(small_run(), 0));
    ASSERT_EQ(comparison.waived.size(), 1);
    EXPECT_EQ(comparison.waived[0].bytes, 400);
}

// Times of 0.5 and 2 s for what took 1 and 2 s; a size that only the later run has is no change.
TEST(Changes, OfWhatBothHave) {
    auto after = small_run();
    after.measurements[0].time.median = 0.5;
    add_measurement(after, 0, {.bytes = 800, .seconds = 1});
    const auto found = changes(small_run(), after);
    ASSERT_EQ(found.size(), 2);
    EXPECT_EQ(found[0].measurement, 0);
    EXPECT_DOUBLE_EQ(found[0].before, 100);
    EXPECT_DOUBLE_EQ(found[0].after, 200);
    EXPECT_DOUBLE_EQ(found[1].before, found[1].after);
}

TEST(Differences, EqualRunsHaveNone) {
    EXPECT_TRUE(differences(small_run(), small_run()).empty());
}

TEST(Differences, AllAreTold) {
    auto baseline = small_run();
    baseline.fingerprint = {{"NCCL", "2.29.2"}, {"driver", "570.8"}};
    EXPECT_EQ(
        differences(small_run(), baseline),
        (std::vector<Difference>{{"NCCL", "2.30.7", "2.29.2"}, {"driver", "575.1", "570.8"}}));
}

TEST(Differences, AMissingEntryIsOneOnEitherSide) {
    auto shorter = small_run();
    shorter.fingerprint.pop_back();
    EXPECT_EQ(differences(small_run(), shorter),
              (std::vector<Difference>{{"driver", "575.1", std::nullopt}}));
    EXPECT_EQ(differences(shorter, small_run()),
              (std::vector<Difference>{{"driver", std::nullopt, "575.1"}}));
}

TEST(Differences, AnotherBackEndComesFirst) {
    auto baseline = small_run();
    baseline.backend = "mpi";
    baseline.fingerprint.pop_back();
    EXPECT_EQ(
        differences(small_run(), baseline),
        (std::vector<Difference>{{"backend", "nccl", "mpi"}, {"driver", "575.1", std::nullopt}}));
}

}  // namespace
}  // namespace distgpu::scaling
