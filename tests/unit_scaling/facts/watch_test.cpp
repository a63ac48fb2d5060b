#include "facts/watch.h"

#include "made_up_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using testing::ElementsAre;

TEST(Watch, CountsFromTheBeginOfTheRun) {
    const MadeUpPort port("mlx5_3/ports/1");
    const Watch watch({"GPU 3", "", "mlx5_3"}, port.roots());
    port.count("symbol_error", 21);
    const RankFacts facts = watch.end(Rates{2e12});
    EXPECT_THAT(facts.unusual, ElementsAre("mlx5_3: 14 symbol errors during the run"));
    EXPECT_EQ(facts.rates, (Rates{2e12, std::nullopt, std::nullopt, 50e9}));  // 400 Gb/s
}

TEST(Watch, CopiesThatFailAreUnusual) {
    const MadeUpPort port("mlx5_3/ports/1");
    const Watch watch({"GPU 3", "", ""}, port.roots());
    const RankFacts facts = watch.end(Error{"cuMemAllocHost", "out of memory", "what to do"});
    EXPECT_THAT(facts.unusual, ElementsAre("GPU 3: cuMemAllocHost: out of memory"));
    EXPECT_EQ(facts.rates, Rates{});
}

}  // namespace
}  // namespace distgpu::scaling
