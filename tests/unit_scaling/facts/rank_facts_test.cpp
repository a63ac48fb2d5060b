#include "facts/rank_facts.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

TEST(RankFacts, AreReadBackFromOneLine) {
    const RankFacts facts{{"GPU 3: \"x\"\n", "mlx5_3: 14 symbol errors during the run"}};
    EXPECT_EQ(text_of(facts).find('\n'), std::string::npos);
    EXPECT_EQ(read_rank_facts(text_of(facts)), facts);
}

TEST(RankFacts, OfAnotherTextNothingIsKnown) {
    EXPECT_EQ(read_rank_facts(""), RankFacts{});
    EXPECT_EQ(read_rank_facts(R"({"unusual": ["a", 1]})"), RankFacts{});
}

}  // namespace
}  // namespace distgpu::scaling
