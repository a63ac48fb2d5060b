// Check against a simulated collective: what the definition of each says that ranks receive.
#include "run/check.h"

#include "analysis/bus_bandwidth.h"
#include "backend/number.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace distgpu::scaling {
namespace {

constexpr std::uint32_t ranks = 3;
constexpr std::size_t part = 4;  // elements

using Buffer = std::vector<std::byte>;

class Collectives : public testing::TestWithParam<std::tuple<Collective, DataType>> {
  protected:
    DataType type = std::get<1>(GetParam());
    std::size_t size = row_of(type).bytes;
    Subject subject{std::get<0>(GetParam()), type, false, ranks* part* size};
    std::vector<Buffer> sent = filled();

    std::vector<Buffer> filled() const {
        std::vector<Buffer> all;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            Buffer buffer(subject.bytes);
            Check(subject, {rank, ranks}).fill(buffer);
            all.push_back(std::move(buffer));
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
            }
        }
        return buffer;
    }
};

TEST_P(Collectives, TheRightResultPasses) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(Check(subject, {rank, ranks}).first_wrong(received(rank)), std::nullopt);
    }
}

TEST_P(Collectives, AChangedElementIsNamed) {
    Buffer wrong = received(0);
    wrong[2 * size] ^= std::byte{1};
    const auto said = Check(subject, {0, ranks}).first_wrong(wrong);
    ASSERT_TRUE(said);
    EXPECT_EQ(said->rfind("wrong data: element 2 is ", 0), 0U) << *said;
}

TEST_P(Collectives, NothingReceivedIsWrong) {
    EXPECT_TRUE(Check(subject, {0, ranks}).first_wrong(Buffer(subject.bytes)));
}

class DifferentResults : public Collectives {};

// A library that mixes up ranks gives one what another should have.
TEST_P(DifferentResults, TheResultOfAnotherRankIsWrong) {
    EXPECT_TRUE(Check(subject, {1, ranks}).first_wrong(received(2)));
}

INSTANTIATE_TEST_SUITE_P(
    Those, DifferentResults,
    testing::Combine(testing::Values(Collective::reduce_scatter, Collective::all_to_all,
                                     Collective::send_recv),
                     testing::Values(DataType::f32, DataType::bf16, DataType::i8)));

INSTANTIATE_TEST_SUITE_P(
    All, Collectives,
    testing::Combine(testing::Values(Collective::all_reduce, Collective::all_gather,
                                     Collective::reduce_scatter, Collective::broadcast,
                                     Collective::reduce, Collective::all_to_all,
                                     Collective::send_recv),
                     testing::Values(DataType::f32, DataType::f16, DataType::bf16, DataType::i8,
                                     DataType::i64)));

TEST(Reduce, OnlyTheRootHasAResult) {
    const Subject subject{Collective::reduce, DataType::f32, false, 16};
    EXPECT_EQ(Check(subject, {1, 2}).first_wrong(Buffer(16)), std::nullopt);
    EXPECT_TRUE(Check(subject, {0, 2}).first_wrong(Buffer(16)));
}

}  // namespace
}  // namespace distgpu::scaling
