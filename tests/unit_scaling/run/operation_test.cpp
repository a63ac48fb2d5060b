#include "run/operation.h"

#include <gtest/gtest.h>

#include <array>

namespace distgpu::scaling {
namespace {

Subject of(Collective collective, bool in_place = false) {
    return {collective, DataType::f32, in_place, 48};
}

// nccl-tests' size is that of the larger buffer: 48 bytes are 12 floats, 4 for each of 3 ranks.
TEST(Extent, FollowsTheLargerBuffer) {
    EXPECT_EQ(extent_of(of(Collective::all_reduce), 3), (Extent{12, 12, 12}));
    EXPECT_EQ(extent_of(of(Collective::all_gather), 3), (Extent{4, 4, 12}));
    EXPECT_EQ(extent_of(of(Collective::reduce_scatter), 3), (Extent{4, 12, 4}));
    EXPECT_EQ(extent_of(of(Collective::all_to_all), 3), (Extent{4, 12, 12}));
    EXPECT_EQ(extent_of(of(Collective::send_recv), 3), (Extent{12, 12, 12}));
    EXPECT_EQ(extent_of(of(Collective::gather), 3), (Extent{4, 4, 12}));
    EXPECT_EQ(extent_of(of(Collective::scatter), 3), (Extent{4, 12, 4}));
    EXPECT_EQ(extent_of(of(Collective::all_to_all_v), 3), (Extent{4, 12, 12}));
    EXPECT_EQ(extent_of(of(Collective::bisection), 4), (Extent{12, 12, 12}));
}

TEST(Extent, ARestThatIsNoElementForEachRankIsLeftOut) {
    EXPECT_EQ(extent_of(of(Collective::all_to_all), 5), (Extent{2, 10, 10}));
    EXPECT_EQ(extent_of(of(Collective::all_gather), 13).count, 0U);
}

TEST(Extent, AnOddNumberOfRanksHasNoHalves) {
    EXPECT_EQ(extent_of(of(Collective::bisection), 3).count, 0U);
}

// NCCL's definition of in place, in the parts of rank 1 of 3.
TEST(Call, InPlaceSharesTheBuffer) {
    std::array<std::byte, 48> send{};
    std::array<std::byte, 48> receive{};
    const Seat seat{1, 3};
    const auto call = [&](Collective collective) {
        return call_of(of(collective, true), seat, send.data(), receive.data());
    };
    EXPECT_EQ(call(Collective::all_reduce).send, receive.data());
    EXPECT_EQ(call(Collective::all_reduce).receive, receive.data());
    EXPECT_EQ(call(Collective::all_gather).send, receive.data() + 16);
    EXPECT_EQ(call(Collective::all_gather).receive, receive.data());
    EXPECT_EQ(call(Collective::reduce_scatter).send, receive.data());
    EXPECT_EQ(call(Collective::reduce_scatter).receive, receive.data() + 16);
}

TEST(Call, OutOfPlaceUsesBothBuffers) {
    std::array<std::byte, 48> send{};
    std::array<std::byte, 48> receive{};
    const Call call = call_of(of(Collective::all_gather), {1, 3}, send.data(), receive.data());
    EXPECT_EQ(call.send, send.data());
    EXPECT_EQ(call.receive, receive.data());
    EXPECT_EQ(call.count, 4U);
}

}  // namespace
}  // namespace distgpu::scaling
