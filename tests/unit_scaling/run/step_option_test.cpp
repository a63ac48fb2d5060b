#include "run/step_option.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace distgpu::scaling {
namespace {

const Wishes wishes{{Collective::all_reduce, Collective::all_gather},
                    {DataType::f32},
                    {1U << 10U, 1U << 20U, 64U << 20U}};

std::string refusal(const std::string& text) {
    const auto step = parse_step(text, wishes);
    return step ? "" : step.error().message();
}

TEST(ParseStep, ComputeAndCollectives) {
    const auto step = parse_step("compute=120ms,allreduce=25M*40,all-gather=1M", wishes);
    ASSERT_TRUE(step);
    EXPECT_EQ(*step, (TrainingStep{"compute=120ms,allreduce=25M*40,all-gather=1M",
                                   0.12,
                                   {{Collective::all_reduce, 25U << 20U, 40},
                                    {Collective::all_gather, 1U << 20U, 1}}}));
    EXPECT_DOUBLE_EQ(parse_step("compute=1.5s,allreduce=1K", wishes)->compute, 1.5);
    EXPECT_DOUBLE_EQ(parse_step("compute=200us,allreduce=1K", wishes)->compute, 200e-6);
}

TEST(ParseStep, ASizeBeyondThoseMeasuredSaysHowToMeasureIt) {
    EXPECT_EQ(refusal("compute=1s,allreduce=128M"),
              "distgpu: --step all-reduce of 128 MiB: larger than the largest size measured, "
              "64 MiB; measure up to that size with -e 134217728");
    EXPECT_EQ(refusal("compute=1s,allreduce=512"),
              "distgpu: --step all-reduce of 512 B: smaller than the smallest size measured, "
              "1 KiB; measure from that size with -b 512");
    EXPECT_EQ(refusal("compute=1s,allreduce=64M"), "");
    EXPECT_EQ(refusal("compute=1s,allreduce=1K"), "");
}

TEST(ParseStep, Refusals) {
    const std::string form = "; write compute=120ms,allreduce=25M*40";
    for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
             {"compute=1,allreduce=1K", "--step compute=1: not a time" + form},
             {"compute=-1s,allreduce=1K", "--step compute=-1s: not a time" + form},
             {"compute=1s,gossip=1K", "--step gossip=1K: not a collective" + form},
             {"compute=1s,allreduce=1K*0", "1K*0: not a size, or SIZE*COUNT" + form},
             {"compute=1s,allreduce=1K*x", "1K*x: not a size, or SIZE*COUNT" + form},
             {"compute=1s", "--step compute=1s: needs compute and a collective" + form},
             {"allreduce=1K", "--step allreduce=1K: needs compute and a collective" + form},
             {"compute=1s,alltoall=1K",
              "--step all-to-all: this collective is not measured; name it in --collective: "
              "all-to-all"}}) {
        EXPECT_EQ(refusal(text), "distgpu: " + message);
    }
    EXPECT_NE(refusal("compute=1s,allreduce"), "");
}

}  // namespace
}  // namespace distgpu::scaling
