// Check against a simulated collective: what the definition of each says that ranks receive.
#include "run/measure.h"

#include "analysis/collectives.h"
#include "backend/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace distgpu::scaling {
namespace {

constexpr std::uint32_t ranks = 4;
constexpr std::size_t part = 5000;  // elements: more than the pattern has, which goes on

// What a rank receives of what the ranks sent, by the definition of each collective.
std::uint32_t right(const Subject& subject, std::uint32_t rank, std::size_t i) {
    const auto sent = [&](std::uint32_t of, std::size_t element) {
        return Check(subject, {of, ranks}).sent(element);
    };
    const auto sum = [&](std::size_t element) {
        std::uint32_t total = 0;
        for (std::uint32_t of = 0; of < ranks; ++of) total += sent(of, element);
        return total;
    };
    const auto peer = static_cast<std::uint32_t>(i / part);
    switch (subject.collective) {
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

// No element is 0: a buffer that was cleared must not pass. Every type holds each exactly.
TEST(Check, TheRightResultIsExpected) {
    for (const auto& collective : collectives) {
        for (const auto& type : data_types) {
            const Subject subject{collective.collective, type.type, false,
                                  ranks * part * type.bytes};
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                const Check check(subject, {rank, ranks});
                for (std::size_t i = 0; i < extent_of(subject, ranks).receive; i += 37) {
                    const std::uint32_t value = check.received(i);
                    ASSERT_EQ(value, right(subject, rank, i)) << collective.name << ' ' << i;
                    ASSERT_GT(value, 0U);
                    ASSERT_LE(value, exact_integers(type.type));
                }
            }
        }
    }
}

// A library that mixes up ranks gives one what another should have; one that shifts data by a power
// of two gives its neighbour's.
TEST(Check, AnotherRanksResultAndAShiftedOneAreWrong) {
    const Subject subject{Collective::all_to_all, DataType::bf16, false, ranks * part * 2};
    std::size_t other = 0;
    std::size_t shifted = 0;
    for (std::size_t i = 0; i < 256; ++i) {
        const auto value = Check(subject, {1, ranks}).received(i);
        if (value != Check(subject, {2, ranks}).received(i)) ++other;
        if (value != Check(subject, {1, ranks}).received(i + 64)) ++shifted;
    }
    EXPECT_GT(other, 200U);
    EXPECT_GT(shifted, 200U);
}

// bfloat16 holds 256 integers: of a thousand ranks 128 have a say in an element.
TEST(Check, SumsOfManyRanksStayExact) {
    const Subject subject{Collective::all_reduce, DataType::bf16, false, 64};
    const Check check(subject, {7, 1000});
    for (std::size_t i = 0; i < 32; ++i) {
        EXPECT_GE(check.received(i), 128U);
        EXPECT_LE(check.received(i), 256U);
    }
}

TEST(CheckedPieces, AreSpreadFromTheFirstElementToTheLast) {
    EXPECT_EQ(checked_pieces(100), (std::vector<Piece>{{0, 100}}));
    const auto pieces = checked_pieces(1U << 30U);
    ASSERT_EQ(pieces.size(), 64U);
    EXPECT_EQ(pieces.front(), (Piece{0, 256}));
    EXPECT_EQ(pieces.back(), (Piece{(1U << 30U) - 256, 256}));
    for (std::size_t i = 1; i < pieces.size(); ++i) {
        EXPECT_GE(pieces[i].first, pieces[i - 1].first + 256);
    }
}

}  // namespace
}  // namespace distgpu::scaling
