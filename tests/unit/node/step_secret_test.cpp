// The secret of a step, and how its tasks know it.
#include "node/step_secret.h"

#include "map_environment.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu {
namespace {

TEST(StepSecret, NoTwoAreAlike) {
    const auto one = draw_secret();
    const auto other = draw_secret();
    ASSERT_TRUE(one && other);
    EXPECT_NE(one->to_string(), other->to_string());
}

TEST(StepSecret, IsInAVariableOfTheTask) {
    const std::string digits = "000102030405060708090a0b0c0d0eff000102030405060708090a0b0c0d0eff";
    EXPECT_EQ(handed_secret(MapEnvironment({{"SLURM_DISTGPU_SECRET", digits}})),
              Secret::parse(digits));
    EXPECT_EQ(handed_secret(MapEnvironment()), std::nullopt);
    EXPECT_EQ(handed_secret(MapEnvironment({{"SLURM_DISTGPU_SECRET", "7.0 " + digits}})),
              std::nullopt);
}

}  // namespace
}  // namespace distgpu
