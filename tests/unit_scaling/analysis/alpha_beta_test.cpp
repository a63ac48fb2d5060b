// Fits whose best line can be worked out by hand.
#include "analysis/alpha_beta.h"

#include "made_up_results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace distgpu::scaling {
namespace {

TEST(FitAlphaBeta, FindsTheLineItWasMadeFrom) {
    // 20 us and 10 GB/s, over 8 B to 1 GiB.
    std::vector<CarriedTime> times;
    for (double bytes = 8; bytes <= 1 << 30; bytes *= 4) {
        times.push_back({bytes, 20e-6 + bytes / 10e9});
    }
    const auto fit = fit_alpha_beta(times);
    ASSERT_TRUE(fit);
    EXPECT_NEAR(fit->alpha, 20e-6, 1e-12);
    EXPECT_NEAR(fit->beta, 10e9, 1);
    EXPECT_NEAR(fit->residual, 0, 1e-9);
}

TEST(FitAlphaBeta, WeighsRelativeErrors) {
    // Two sizes with two times each: the line can take the best value v at either. Of (v/t - 1)^2
    // over t = 1 and 3 that is (1 + 1/3) / (1 + 1/9) = 1.2, where absolute errors would give 2;
    // ten times that at the other size. The errors are 0.2 and -0.6 at both.
    const std::vector<CarriedTime> times = {{1, 1}, {1, 3}, {11, 10}, {11, 30}};
    const auto fit = fit_alpha_beta(times);
    ASSERT_TRUE(fit);
    EXPECT_NEAR(1 / fit->beta, (12 - 1.2) / 10, 1e-12);
    EXPECT_NEAR(fit->alpha, 1.2 - 1.08, 1e-12);
    EXPECT_NEAR(fit->residual, std::sqrt((0.04 + 0.36) / 2), 1e-12);
}

TEST(FitAlphaBeta, LatencyIsNotNegative) {
    // The line through both is 2 x - 1. Through 0: (1 + 2/3) / (1 + 4/9) = 15/13.
    const std::vector<CarriedTime> times = {{1, 1}, {2, 3}};
    const auto fit = fit_alpha_beta(times);
    ASSERT_TRUE(fit);
    EXPECT_EQ(fit->alpha, 0);
    EXPECT_NEAR(fit->beta, 13.0 / 15, 1e-12);
}

TEST(FitAlphaBeta, NothingFromTooLittle) {
    EXPECT_FALSE(fit_alpha_beta(std::vector<CarriedTime>{}));
    EXPECT_FALSE(fit_alpha_beta(std::vector<CarriedTime>{{8, 1}}));
    EXPECT_FALSE(fit_alpha_beta(std::vector<CarriedTime>{{8, 1}, {8, 2}}));
}

TEST(FitAlphaBeta, NothingFromTimesThatDoNotGrow) {
    EXPECT_FALSE(fit_alpha_beta(std::vector<CarriedTime>{{8, 2}, {16, 1}}));
    EXPECT_FALSE(fit_alpha_beta(std::vector<CarriedTime>{{8, 1}, {16, 1}}));
}

TEST(FitAlphaBeta, OfAGroupWithItsFactor) {
    auto results = made_up_results(2, 2);
    const auto group = add_nodes(results, 2);
    // Four ranks, factor 1.5: 100 and 300 bytes carry 150 and 450, at 1 s + 1 B/s.
    add_measurement(results, group, {.bytes = 100, .seconds = 151});
    add_measurement(results, group, {.bytes = 300, .seconds = 451});
    // None of these belongs to it.
    add_measurement(results, group, {.in_place = true, .bytes = 100, .seconds = 1});
    add_measurement(results, group, {.type = DataType::f16, .bytes = 100, .seconds = 1});
    add_measurement(results, group, {.collective = Collective::reduce, .bytes = 9, .seconds = 1});
    add_measurement(results, group, {.bytes = 100, .seconds = 1, .op = Op::max});
    add_measurement(results, add_nodes(results, 1), {.bytes = 100, .seconds = 1});
    const auto fit = fit_alpha_beta(results, group, {});
    ASSERT_TRUE(fit);
    EXPECT_NEAR(fit->alpha, 1, 1e-9);
    EXPECT_NEAR(fit->beta, 1, 1e-9);
}

TEST(FitAlphaBeta, OneRankHasNone) {
    auto results = made_up_results(2, 1);
    const auto group = add_nodes(results, 1);
    add_measurement(results, group, {.bytes = 100, .seconds = 1});
    add_measurement(results, group, {.bytes = 200, .seconds = 2});
    EXPECT_FALSE(fit_alpha_beta(results, group, {}));
}

TEST(LatencyBandwidthFits, OfEachOperation) {
    auto results = made_up_results(2, 2);
    const auto group = add_nodes(results, 2);
    for (const Op op : {Op::sum, Op::max}) {
        add_measurement(results, group, {.bytes = 100, .seconds = 1, .op = op});
        add_measurement(results, group, {.bytes = 200, .seconds = 2, .op = op});
    }
    const auto fits = latency_bandwidth_fits(results);
    ASSERT_EQ(fits.size(), 2U);
    EXPECT_EQ(fits[0].op, Op::sum);
    EXPECT_EQ(fits[1].op, Op::max);
}

}  // namespace
}  // namespace distgpu::scaling
