#include "facts/rank_facts.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

TEST(RankFacts, AreReadBackFromOneLine) {
    const RankFacts facts{"GPU 3",
                          "mlx5_3",
                          {"GPU 3: \"x\"\n", "mlx5_3: 14 symbol errors during the run"},
                          {2.9e12, 55e9, std::nullopt, 50e9}};
    EXPECT_EQ(text_of(facts).find('\n'), std::string::npos);
    EXPECT_EQ(read_rank_facts(text_of(facts)), facts);
}

TEST(RankFacts, OfAnotherTextNothingIsKnown) {
    EXPECT_EQ(read_rank_facts(""), RankFacts{});
    EXPECT_EQ(read_rank_facts(R"({"gpu": "GPU 3", "port": "", "unusual": ["a", 1]})"), RankFacts{});
}

}  // namespace
}  // namespace distgpu::scaling
