#include "run/overlap.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using Trials = std::vector<OverlapTrial>;

TEST(Overlap, IsHowMuchLongerTheSlowestRankTakes) {
    // Compute: 1 s alone, 1.25 s on the slowest rank beside the collective, which itself takes
    // 2 s alone and 3 s.
    const Overlap overlap =
        overlap_of({Trials{{{1, 2}, {1.25, 2}}}, Trials{{{1, 1.5}, {1.125, 3}}}});
    EXPECT_DOUBLE_EQ(overlap.compute_slowdown, 0.25);
    EXPECT_DOUBLE_EQ(overlap.communication_slowdown, 0.5);
}

// In each trial another rank is the slowest: 4, 2 and 2 s alone, 7, 3 and 3 s together. Their
// medians are 2 and 3.
TEST(Overlap, IsTheMedianOverTheTrialsOfTheSlowestRank) {
    const Trials first{{{4, 1}, {7, 1}}, {{1, 1}, {1, 1}}, {{2, 1}, {3, 1}}};
    const Trials second{{{2, 1}, {1, 1}}, {{2, 1}, {3, 1}}, {{1, 1}, {1, 1}}};
    EXPECT_DOUBLE_EQ(overlap_of({first, second}).compute_slowdown, 0.5);
}

TEST(Overlap, IsNeverBelowZero) {
    EXPECT_EQ(overlap_of({Trials{{{1, 1}, {0.9, 0.8}}}}), Overlap{});
}

// A kernel takes 1 ms, a collective 5.
class MadeUpCompute final : public Compute {
  public:
    Result<Seconds> run(std::uint32_t kernels, Communicator* group, const Call& call) override {
        if (group != nullptr && call.count != 25U * 1024 * 1024 / 4) return Error{"count", "", ""};
        if (fails_beside && kernels > 0 && group != nullptr) return Error{"GPU", "fell off", ""};
        const double slower = kernels > 0 && group != nullptr ? 2 : 1;
        kernels_beside = kernels > 0 && group != nullptr ? kernels : kernels_beside;
        return Seconds{kernels * 0.001 * slower, group != nullptr ? 0.005 * slower : 0};
    }

    std::uint32_t kernels_beside = 0;
    bool fails_beside = false;
};

class MadeUpGroup final : public Communicator {
  public:
    std::optional<Error> run(const Call& /*call*/) override { return std::nullopt; }
    std::optional<Error> synchronize() override { return std::nullopt; }
    std::optional<Error> barrier() override {
        ++barriers;
        return std::nullopt;
    }
    std::optional<Error> close() override { return std::nullopt; }

    int barriers = 0;
};

TEST(OverlapTrials, ComputeTakesAsLongAsTheCollective) {
    MadeUpCompute compute;
    MadeUpGroup group;
    int steps = 0;
    const auto trials =
        overlap_trials(compute, group, nullptr, {2, 3, std::nullopt, [&] { ++steps; }});
    ASSERT_TRUE(trials.has_value());
    ASSERT_EQ(trials->size(), 3U);
    EXPECT_EQ(compute.kernels_beside, 5U);
    for (const auto& [alone, together] : *trials) {
        EXPECT_DOUBLE_EQ(alone.compute, 0.005);
        EXPECT_DOUBLE_EQ(alone.communication, 0.005);
        EXPECT_DOUBLE_EQ(together.compute, 0.01);
        EXPECT_DOUBLE_EQ(together.communication, 0.01);
    }
    // Every run of a trial begins for all ranks at once: 3 times 3, after the 2 runs to warm up and
    // the one that is measured to know how many kernels.
    EXPECT_EQ(group.barriers, 12);
    EXPECT_EQ(steps, 12);
}

TEST(OverlapTrials, EndAtAnError) {
    MadeUpCompute compute;
    compute.fails_beside = true;
    MadeUpGroup group;
    const auto trials = overlap_trials(compute, group, nullptr, {1, 3, std::nullopt, [] {}});
    ASSERT_FALSE(trials.has_value());
    EXPECT_EQ(trials.error().problem, "GPU: fell off");
    EXPECT_EQ(trials.error().code, ExitCode::environment);
}

}  // namespace
}  // namespace distgpu::scaling
