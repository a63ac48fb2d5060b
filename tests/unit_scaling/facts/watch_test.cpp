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
    EXPECT_THAT(watch.end().unusual, ElementsAre("mlx5_3: 14 symbol errors during the run"));
}

}  // namespace
}  // namespace distgpu::scaling
