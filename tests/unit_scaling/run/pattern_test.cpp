#include "run/pattern.h"

#include "backend/number.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace distgpu::scaling {
namespace {

class SummedPattern : public testing::TestWithParam<std::tuple<DataType, std::uint32_t>> {
  protected:
    DataType type = std::get<0>(GetParam());
    std::uint32_t ranks = std::get<1>(GetParam());
    static constexpr std::size_t elements = 5000;  // more than a period
    Pattern pattern{type, Op::sum, ranks, elements};
};

TEST_P(SummedPattern, SumIsThatOfAllRanksAndExact) {
    for (std::size_t element = 0; element < elements; element += 7) {
        std::uint64_t sum = 0;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) sum += pattern.value(rank, element);
        ASSERT_EQ(pattern.result(element), sum);
        ASSERT_GE(sum, 1U);
        ASSERT_LE(sum, exact_integers(type));
    }
}

// Of what a rank adds, another rank's in its place or none at all must change some sum; and so
// must the values of the next element.
TEST_P(SummedPattern, AWrongRankOrElementChangesSums) {
    std::size_t other_rank = 0;
    std::size_t none = 0;
    std::size_t next_element = 0;
    for (std::size_t element = 0; element + 1 < elements; ++element) {
        const auto own = pattern.value(0, element);
        other_rank += own != pattern.value(ranks - 1, element);
        none += own != 0;
        next_element += pattern.result(element) != pattern.result(element + 1);
    }
    // Where a type has room for two values only, half of the elements tell; where few ranks have a
    // value in an element, as few do.
    const std::size_t few = elements / (4 * std::max(1U, 2 * ranks / exact_integers(type)));
    EXPECT_GT(other_rank, few);
    EXPECT_GT(none, few);
    EXPECT_GT(next_element, elements / 4);
}

INSTANTIATE_TEST_SUITE_P(TypesAndRanks, SummedPattern,
                         testing::Combine(testing::Values(DataType::f32, DataType::bf16,
                                                          DataType::f8e5m2, DataType::i8),
                                          testing::Values(2U, 8U, 63U, 512U)));

double computed(Op op, double a, double b) {
    switch (op) {
        case Op::prod:
            return a * b;
        case Op::max:
            return std::max(a, b);
        case Op::min:
            return std::min(a, b);
        default:
            return a + b;
    }
}

class ReducedPattern : public testing::TestWithParam<std::tuple<DataType, Op, std::uint32_t>> {
  protected:
    DataType type = std::get<0>(GetParam());
    Op op = std::get<1>(GetParam());
    std::uint32_t ranks = std::get<2>(GetParam());
    static constexpr std::size_t elements = 5000;  // more than a period
    Pattern pattern{type, op, ranks, elements};

    // By the definition, of all ranks but one; `missing` == ranks: of all.
    double result_without(std::uint32_t missing, std::size_t element) const {
        std::optional<double> result;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            if (rank == missing) continue;
            const double value = pattern.value(rank, element);
            result = result ? computed(op, *result, value) : value;
        }
        return op == Op::avg ? *result / ranks : *result;
    }
};

// And so is what is on the way to it: no value makes a sum or a product smaller.
TEST_P(ReducedPattern, ResultIsThatOfAllRanksAndExact) {
    for (std::size_t element = 0; element < elements; element += 7) {
        ASSERT_EQ(pattern.result(element), result_without(ranks, element));
        ASSERT_GE(pattern.result(element), 1U);
        ASSERT_LE(pattern.result(element) * (op == Op::avg ? ranks : 1), exact_integers(type));
        ASSERT_EQ(pattern.value(0, element) % (op == Op::avg ? ranks : 1), 0U);
    }
}

TEST_P(ReducedPattern, EveryRankIsMissed) {
    for (std::uint32_t missing = 0; missing < ranks; ++missing) {
        std::size_t changed = 0;
        for (std::size_t element = 0; element < 500; ++element) {
            changed += result_without(missing, element) != pattern.result(element);
        }
        EXPECT_GT(changed, 0U) << missing;
    }
}

INSTANTIATE_TEST_SUITE_P(TypesAndOps, ReducedPattern,
                         testing::Combine(testing::Values(DataType::f64, DataType::f16,
                                                          DataType::bf16, DataType::i8),
                                          testing::Values(Op::prod, Op::max, Op::min, Op::avg),
                                          testing::Values(2U, 16U, 32U)));

// A sixth is no binary fraction; the 127 of int8 are not two multiples of 64.
TEST(ExactAverages, ArePowersOfTwoThatFit) {
    EXPECT_TRUE(Pattern::is_exact(DataType::f32, Op::avg, 8));
    EXPECT_FALSE(Pattern::is_exact(DataType::f32, Op::avg, 6));
    EXPECT_TRUE(Pattern::is_exact(DataType::i8, Op::avg, 32));
    EXPECT_FALSE(Pattern::is_exact(DataType::i8, Op::avg, 64));
    EXPECT_TRUE(Pattern::is_exact(DataType::i8, Op::max, 6));
}

TEST(CopiedPattern, DiffersBetweenRanksAndElements) {
    const Pattern pattern(DataType::i8, Op::sum, 1, 4096);
    std::size_t same_rank = 0;
    std::size_t same_element = 0;
    for (std::size_t element = 0; element < 4000; ++element) {
        same_rank += pattern.value(3, element) == pattern.value(4, element);
        same_element += pattern.value(3, element) == pattern.value(3, element + 1);
    }
    // 127 values: by chance one in 127, 31 of 4000.
    EXPECT_LT(same_rank, 70U);
    EXPECT_LT(same_element, 70U);
}

}  // namespace
}  // namespace distgpu::scaling
