// Check against a simulated collective: what the definition of each says that ranks receive.
#include "run/check.h"

#include "analysis/bus_bandwidth.h"
#include "backend/number.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

namespace distgpu::scaling {
namespace {

constexpr std::uint32_t ranks = 4;
constexpr std::size_t part = 4;  // elements

using Buffer = std::vector<std::byte>;

// What stands in a buffer with this content.
Buffer bytes_of(const KnownData& data) {
    Buffer buffer(data.bytes);
    fill(buffer, data.content());
    return buffer;
}

// What a rank must receive; zeros where nothing is defined.
Buffer expected(const Subject& subject, std::uint32_t rank) {
    const Check check(subject, {rank, ranks});
    Buffer all(subject.bytes);
    for (std::uint32_t index = 0; index < check.parts(); ++index) {
        const KnownData right = check.received(index);
        const Buffer bytes = bytes_of(right);
        const std::size_t begin = right.at * row_of(subject.type).bytes;
        EXPECT_LE(begin + bytes.size(), all.size());
        std::copy(bytes.begin(), bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    return all;
}

class Collectives : public testing::TestWithParam<std::tuple<Collective, DataType>> {
  protected:
    DataType type = std::get<1>(GetParam());
    std::size_t size = row_of(type).bytes;
    Subject subject{std::get<0>(GetParam()), type, false, ranks* part* size};
    std::vector<Buffer> sent = filled();

    std::vector<Buffer> filled() const {
        std::vector<Buffer> all;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            all.push_back(bytes_of(Check(subject, {rank, ranks}).sent()));
        }
        return all;
    }

    std::uint32_t sum(std::size_t element) const {
        double total = 0;
        for (const Buffer& buffer : sent) total += load(type, &buffer[element * size]);
        return static_cast<std::uint32_t>(total);
    }

    void take(Buffer& to, std::size_t at, std::uint32_t from, std::size_t element) const {
        std::memcpy(&to[at * size], &sent[from][element * size], size);
    }

    Buffer received(std::uint32_t rank) const {
        Buffer buffer(subject.bytes);
        for (std::size_t i = 0; i < ranks * part; ++i) {
            const auto peer = static_cast<std::uint32_t>(i / part);
            switch (subject.collective) {
                case Collective::all_reduce:
                case Collective::reduce:
                    store(type, sum(i), &buffer[i * size]);
                    break;
                case Collective::reduce_scatter:
                    if (i < part) store(type, sum(rank * part + i), &buffer[i * size]);
                    break;
                case Collective::all_gather:
                    take(buffer, i, peer, i % part);
                    break;
                case Collective::all_to_all:
                    take(buffer, i, peer, rank * part + i % part);
                    break;
                case Collective::broadcast:
                    take(buffer, i, 0, i);
                    break;
                case Collective::send_recv:
                    take(buffer, i, (rank + ranks - 1) % ranks, i);
                    break;
                case Collective::gather:
                    if (rank == 0) take(buffer, i, peer, i % part);
                    break;
                case Collective::scatter:
                    if (i < part) take(buffer, i, 0, rank * part + i);
                    break;
                case Collective::all_to_all_v:  // a part has 4 elements: one more for each rank on
                    if (i % part > (rank + ranks - peer) % ranks) break;
                    take(buffer, i, peer, rank * part + i % part);
                    break;
                case Collective::bisection:
                    take(buffer, i, (rank + 2) % ranks, i);
                    break;
            }
        }
        return buffer;
    }
};

TEST_P(Collectives, TheRightResultIsExpected) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const Buffer right = expected(subject, rank);
        const bool undefined = subject.collective == Collective::reduce && rank != 0;
        EXPECT_EQ(undefined ? Buffer(subject.bytes) : received(rank), right);
    }
}

// A buffer that was cleared must not pass.
TEST_P(Collectives, NoElementIsZero) {
    const Check check(subject, {0, ranks});
    for (std::uint32_t index = 0; index < check.parts(); ++index) {
        const Buffer right = bytes_of(check.received(index));
        for (std::size_t i = 0; i < right.size(); i += size) EXPECT_NE(load(type, &right[i]), 0);
    }
}

class DifferentResults : public Collectives {};

// A library that mixes up ranks gives one what another should have.
TEST_P(DifferentResults, TheResultOfAnotherRankIsWrong) {
    EXPECT_NE(expected(subject, 1), expected(subject, 2));
}

INSTANTIATE_TEST_SUITE_P(
    Those, DifferentResults,
    testing::Combine(testing::Values(Collective::reduce_scatter, Collective::all_to_all,
                                     Collective::send_recv, Collective::scatter,
                                     Collective::all_to_all_v, Collective::bisection),
                     testing::Values(DataType::f32, DataType::bf16, DataType::i8)));

INSTANTIATE_TEST_SUITE_P(
    All, Collectives,
    testing::Combine(testing::Values(Collective::all_reduce, Collective::all_gather,
                                     Collective::reduce_scatter, Collective::broadcast,
                                     Collective::reduce, Collective::all_to_all,
                                     Collective::send_recv, Collective::gather, Collective::scatter,
                                     Collective::all_to_all_v, Collective::bisection),
                     testing::Values(DataType::f32, DataType::f64, DataType::f16, DataType::bf16,
                                     DataType::f8e4m3, DataType::f8e5m2, DataType::i8,
                                     DataType::i64)));

class Reductions : public testing::TestWithParam<std::tuple<Op, DataType>> {};

// Of four ranks, for which also the average is exact.
TEST_P(Reductions, TheResultIsTheOperationsOwn) {
    const auto [op, type] = GetParam();
    const std::size_t size = row_of(type).bytes;
    const Subject subject{Collective::all_reduce, type, false, part * size, op};
    ASSERT_TRUE(Check::is_possible(subject, ranks));
    const Buffer right = expected(subject, 1);
    for (std::size_t i = 0; i < part; ++i) {
        std::vector<double> values;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const Buffer sent = bytes_of(Check(subject, {rank, ranks}).sent());
            values.push_back(load(type, &sent[i * size]));
        }
        std::sort(values.begin(), values.end());
        const double sum = values[0] + values[1] + values[2] + values[3];
        const double product = values[0] * values[1] * values[2] * values[3];
        const std::map<Op, double> results{{Op::sum, sum},
                                           {Op::prod, product},
                                           {Op::max, values[3]},
                                           {Op::min, values[0]},
                                           {Op::avg, sum / 4}};
        EXPECT_EQ(load(type, &right[i * size]), results.at(op));
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, Reductions,
    testing::Combine(testing::Values(Op::sum, Op::prod, Op::max, Op::min, Op::avg),
                     testing::Values(DataType::f32, DataType::f16, DataType::i8)));

TEST(Averages, OfThreeRanksCannotBeChecked) {
    const Subject subject{Collective::all_reduce, DataType::f32, false, 12, Op::avg};
    EXPECT_FALSE(Check::is_possible(subject, 3));
}

TEST(Reduce, OnlyTheRootHasAResult) {
    const Subject subject{Collective::reduce, DataType::f32, false, 16};
    EXPECT_EQ(Check(subject, {1, 2}).parts(), 0U);
    EXPECT_EQ(Check(subject, {0, 2}).parts(), 1U);
}

// Parts of more than the pattern's 4093 elements, which begin anywhere in it.
TEST(LargeParts, GoOnWhereThePatternDoes) {
    constexpr std::size_t count = 5000;
    const Subject subject{Collective::all_to_all, DataType::i32, false, 3 * count * 4};
    const Buffer sent = bytes_of(Check(subject, {2, 3}).sent());
    const Buffer got = bytes_of(Check(subject, {1, 3}).received(2));
    ASSERT_EQ(got.size(), count * 4);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), sent.begin() + count * 4));
}

}  // namespace
}  // namespace distgpu::scaling
