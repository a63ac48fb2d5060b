// Training steps small enough to be drawn on paper.
#include "analysis/ddp_step.h"

#include "analysis/collective_times.h"
#include "made_up_results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace distgpu::scaling {
namespace {

// Two buckets; 1 s forward, 2 s backward.
const Profile two_buckets{.name = "two buckets",
                          .parallelism = Profile::Parallelism::ddp,
                          .bytes = 2 * ddp_bucket_bytes,
                          .layers = 0,
                          .forward = 1,
                          .backward = 2,
                          .source = ""};

// 1 s forward and 2 s backward for each of two layers of 50 bytes.
const Profile two_layers{.name = "two layers",
                         .parallelism = Profile::Parallelism::fsdp,
                         .bytes = 100,
                         .layers = 2,
                         .forward = 2,
                         .backward = 4,
                         .source = ""};

CommunicationTime always(double seconds) {
    return [seconds](Collective, double) { return seconds; };
}

TEST(StepSeconds, DdpHidesAllButTheLastBucket) {
    // The first bucket is ready at 1 + 1 and done at 2.5, the second ready at 3 and done at 3.5.
    EXPECT_DOUBLE_EQ(step_seconds(two_buckets, 1, always(0.5)), 3.5);
}

TEST(StepSeconds, DdpBucketsWaitForEachOther) {
    // Ready at 2, done at 4; the second, ready at 3, from 4 to 6.
    EXPECT_DOUBLE_EQ(step_seconds(two_buckets, 1, always(2)), 6);
}

TEST(StepSeconds, DdpIsNotFasterThanItsCompute) {
    EXPECT_DOUBLE_EQ(step_seconds(two_buckets, 1, always(0)), 3);
}

TEST(StepSeconds, DdpsLastBucketHoldsTheRest) {
    // 60 MiB: 25, 25 and 10, ready at 1 + 2 * 25/60, 1 + 2 * 50/60 and 3. At 25 MiB in 0.6 s the
    // second is done at 2.6667 + 0.6, and then the third takes 0.24.
    auto profile = two_buckets;
    profile.bytes = 60.0 * 1024 * 1024;
    const CommunicationTime time = [](Collective collective, double bytes) {
        EXPECT_EQ(collective, Collective::all_reduce);
        return 0.6 * bytes / ddp_bucket_bytes;
    };
    EXPECT_NEAR(step_seconds(profile, 1, time), 1 + 2 * 50.0 / 60 + 0.6 + 0.24, 1e-12);
}

TEST(StepSeconds, AShareOfTheWorkSendsAsMuch) {
    // Half the batch: ready at 1 and 1.5, done at 1.5 and 2.
    EXPECT_DOUBLE_EQ(step_seconds(two_buckets, 0.5, always(0.5)), 2);
}

TEST(StepSeconds, OneRankOnlyComputes) {
    EXPECT_DOUBLE_EQ(step_seconds(two_buckets, 1), 3);
    EXPECT_DOUBLE_EQ(step_seconds(two_buckets, 0.25), 0.75);
    EXPECT_DOUBLE_EQ(step_seconds(two_layers, 1), 6);
}

TEST(StepSeconds, FsdpHidesAllButTheEnds) {
    // Collectives of 1 s. Forward: gathers end at 1 and 2, layers compute 1-2 and 2-3. Backward:
    // gather 3-4, compute 4-6; meanwhile gather 4-5; then reduce 6-7 beside compute 6-8, and
    // reduce 8-9.
    EXPECT_DOUBLE_EQ(step_seconds(two_layers, 1, always(1)), 9);
}

TEST(StepSeconds, FsdpBoundByItsCollectives) {
    // Six of 3 s, and the second layer's forward second, in which nothing can be gathered.
    EXPECT_DOUBLE_EQ(step_seconds(two_layers, 1, always(3)), 19);
}

TEST(StepSeconds, FsdpGathersTwiceAndReduceScattersOnceALayer) {
    int gathers = 0;
    double reduced = 0;
    // Only reduce-scatter takes time: it is exposed after the last layer, and for one layer before
    // that where it is longer than the 2 s of compute: 6 + 5 + (5 - 2).
    const CommunicationTime time = [&](Collective collective, double bytes) {
        EXPECT_DOUBLE_EQ(bytes, 50);
        if (collective == Collective::all_gather) ++gathers;
        if (collective == Collective::reduce_scatter) reduced += bytes;
        return collective == Collective::reduce_scatter ? 5.0 : 0.0;
    };
    EXPECT_DOUBLE_EQ(step_seconds(two_layers, 1, time), 14);
    EXPECT_GT(gathers, 0);
    EXPECT_GT(reduced, 0);
    // Only all-gather: 4 of 5 s, and the forward second after the second of them, the backward
    // 2 s after the last.
    const CommunicationTime gather = [](Collective collective, double) {
        return collective == Collective::all_gather ? 5.0 : 0.0;
    };
    EXPECT_DOUBLE_EQ(step_seconds(two_layers, 1, gather), 20 + 1 + 2);
}

TEST(CollectiveTimes, BetweenBelowAndAboveTheSizes) {
    auto results = made_up_results(2, 1);
    const auto group = add_nodes(results, 2);
    add_measurement(results, group, {.bytes = 200, .seconds = 4});
    add_measurement(results, group, {.bytes = 100, .seconds = 1});
    const auto times = CollectiveTimes::of(results, group, Collective::all_reduce);
    ASSERT_TRUE(times);
    EXPECT_DOUBLE_EQ(times->at(100), 1);
    EXPECT_DOUBLE_EQ(times->at(150), 2.5);
    EXPECT_DOUBLE_EQ(times->at(200), 4);
    EXPECT_DOUBLE_EQ(times->at(10), 1);
    EXPECT_DOUBLE_EQ(times->at(600), 12);
}

TEST(CollectiveTimes, AreOfOneGroupAndCollectiveAndAllTypes) {
    auto results = made_up_results(2, 1);
    const auto group = add_nodes(results, 2);
    add_measurement(results, group, {.bytes = 100, .seconds = 1});
    add_measurement(results, group, {.type = DataType::bf16, .bytes = 100, .seconds = 3});
    add_measurement(results, group,
                    {.collective = Collective::broadcast, .bytes = 100, .seconds = 50});
    add_measurement(results, add_nodes(results, 1), {.bytes = 100, .seconds = 50});
    EXPECT_DOUBLE_EQ(CollectiveTimes::of(results, group, Collective::all_reduce)->at(100), 2);
    EXPECT_FALSE(CollectiveTimes::of(results, group, Collective::all_gather));
}

TEST(StepScaling, OneGpuANodeComputesAloneOnOneNode) {
    auto results = made_up_results(4, 1);
    add_nodes(results, 1);
    for (const std::uint32_t nodes : {4U, 2U}) {
        const auto group = add_nodes(results, nodes);
        add_measurement(results, group,
                        {.bytes = static_cast<std::uint64_t>(ddp_bucket_bytes), .seconds = 0.5});
    }
    const auto scaling = step_scaling(results, two_buckets);
    ASSERT_EQ(scaling.weak.size(), 3);
    ASSERT_EQ(scaling.strong.size(), 3);
    // Weak: 3 s alone, 3.5 s with others.
    EXPECT_DOUBLE_EQ(scaling.weak[0].seconds, 3);
    EXPECT_DOUBLE_EQ(scaling.weak[1].efficiency, 3 / 3.5);
    EXPECT_DOUBLE_EQ(scaling.weak[2].efficiency, 3 / 3.5);
    // Strong: half the batch in 2 s; a quarter is ready at 0.5 and 0.75, done at 1 and 1.5.
    EXPECT_EQ(scaling.strong[1].nodes, 2);
    EXPECT_DOUBLE_EQ(scaling.strong[1].efficiency, 3.0 / (2 * 2));
    EXPECT_EQ(scaling.strong[2].nodes, 4);
    EXPECT_DOUBLE_EQ(scaling.strong[2].efficiency, 3.0 / (4 * 1.5));
}

TEST(StepScaling, OfSeveralGpusANodeOneNodeCommunicatesToo) {
    auto results = made_up_results(2, 2);
    for (const std::uint32_t nodes : {1U, 2U}) {
        add_measurement(results, add_nodes(results, nodes), {.bytes = 1, .seconds = 0});
    }
    const auto scaling = step_scaling(results, two_buckets);
    ASSERT_EQ(scaling.weak.size(), 2);
    EXPECT_DOUBLE_EQ(scaling.weak[0].seconds, 3);
    EXPECT_DOUBLE_EQ(scaling.weak[1].efficiency, 1);
}

TEST(StepScaling, NothingWithoutTheProfilesCollectives) {
    auto results = made_up_results(2, 2);
    for (const std::uint32_t nodes : {1U, 2U}) {
        add_measurement(results, add_nodes(results, nodes), {.bytes = 1, .seconds = 1});
    }
    EXPECT_TRUE(step_scaling(results, two_layers).weak.empty());
    EXPECT_TRUE(step_scaling(results, two_layers).strong.empty());
}

TEST(Profiles, SayWhatTheyAreMadeOf) {
    for (const auto& profile : profiles) {
        const auto name = std::string(profile.name);
        EXPECT_GT(profile.bytes, 0) << name;
        EXPECT_DOUBLE_EQ(profile.backward, 2 * profile.forward) << name;
        EXPECT_FALSE(profile.source.empty()) << name;
        EXPECT_EQ(profile.layers > 0, profile.parallelism == Profile::Parallelism::fsdp) << name;
    }
    // 256 / 2470 s; 4096 tokens at 2e12 / (368640 * 3600) = 1507 tokens/s.
    EXPECT_NEAR(step_seconds(profiles[0], 1), 0.1036, 0.0001);
    EXPECT_NEAR(step_seconds(profiles[2], 1), 2.718, 0.001);
}

}  // namespace
}  // namespace distgpu::scaling
