// Compares TestPattern with simulated collectives, which follow the definition of each.
#include "run/measure.h"

#include "analysis/collectives.h"
#include "backend/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace distgpu::scaling {
namespace {

constexpr std::uint32_t ranks = 4;
constexpr std::size_t part = 5000;  // elements; more than the period of the pattern

// The value that a rank receives, by the definition of each collective.
std::uint32_t expected(const Operation& operation, std::uint32_t rank, std::size_t i) {
    const auto sent = [&](std::uint32_t of, std::size_t element) {
        return TestPattern(operation, {of, ranks}).sent(element);
    };
    const auto sum = [&](std::size_t element) {
        std::uint32_t total = 0;
        for (std::uint32_t of = 0; of < ranks; ++of) total += sent(of, element);
        return total;
    };
    const auto peer = static_cast<std::uint32_t>(i / part);
    switch (operation.collective) {
        case Collective::all_reduce:
            return sum(i);
        case Collective::reduce_scatter:
            return sum(rank * part + i);
        case Collective::all_gather:
            return sent(peer, i % part);
        case Collective::all_to_all:
            return sent(peer, rank * part + i % part);
        case Collective::broadcast:
            return sent(0, i);
        case Collective::send_recv:
            break;
    }
    return sent((rank + ranks - 1) % ranks, i);
}

// No element is 0, because a cleared buffer must not pass. Every type can hold the values exactly.
TEST(TestPattern, ExpectsTheRightResult) {
    for (const auto& collective : collectives) {
        for (const auto& type : data_types) {
            const Operation operation{collective.collective, type.type, false,
                                      ranks * part * type.bytes};
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                const TestPattern pattern(operation, {rank, ranks});
                for (std::size_t i = 0; i < buffer_sizes(operation, ranks).receive; i += 37) {
                    const std::uint32_t value = pattern.received(i);
                    ASSERT_EQ(value, expected(operation, rank, i)) << collective.name << ' ' << i;
                    ASSERT_GT(value, 0U);
                    ASSERT_LE(value, exact_integers(type.type));
                }
            }
        }
    }
}

// For libraries that confuse ranks, or shift data by a power of two.
TEST(TestPattern, DiffersForAnotherRankAndForShiftedData) {
    const Operation operation{Collective::all_to_all, DataType::bf16, false, ranks * part * 2};
    std::size_t other = 0;
    std::size_t shifted = 0;
    for (std::size_t i = 0; i < 256; ++i) {
        const auto value = TestPattern(operation, {1, ranks}).received(i);
        if (value != TestPattern(operation, {2, ranks}).received(i)) ++other;
        if (value != TestPattern(operation, {1, ranks}).received(i + 64)) ++shifted;
    }
    EXPECT_GT(other, 200U);
    EXPECT_GT(shifted, 200U);
}

// bfloat16 holds 256 integers, so 128 of the thousand ranks contribute to an element.
TEST(TestPattern, SumsOfManyRanksStayExact) {
    const Operation operation{Collective::all_reduce, DataType::bf16, false, 64};
    const TestPattern pattern(operation, {7, 1000});
    for (std::size_t i = 0; i < 32; ++i) {
        EXPECT_GE(pattern.received(i), 128U);
        EXPECT_LE(pattern.received(i), 256U);
    }
}

TEST(PiecesToCheck, AreSpreadFromTheFirstElementToTheLast) {
    EXPECT_EQ(pieces_to_check(100), (std::vector<Piece>{{0, 100}}));
    const auto pieces = pieces_to_check(1U << 30U);
    ASSERT_EQ(pieces.size(), 64U);
    EXPECT_EQ(pieces.front(), (Piece{0, 256}));
    EXPECT_EQ(pieces.back(), (Piece{(1U << 30U) - 256, 256}));
    for (std::size_t i = 1; i < pieces.size(); ++i) {
        EXPECT_GE(pieces[i].first, pieces[i - 1].first + 256);
    }
}

}  // namespace
}  // namespace distgpu::scaling
