#include "analysis/flow.h"

#include "analysis/bus_bandwidth.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

// A part of 10 elements for each of 4 ranks: that of rank 2 begins at element 20.
TEST(Flow, OfPartsGoesToTheirPlaces) {
    EXPECT_EQ(flow_of(Collective::all_gather, 2, 1, 4, 10), (Flow{0, 20, 10}));
    EXPECT_EQ(flow_of(Collective::all_to_all, 2, 1, 4, 10), (Flow{10, 20, 10}));
    EXPECT_EQ(flow_of(Collective::gather, 2, 0, 4, 10), (Flow{0, 20, 10}));
    EXPECT_EQ(flow_of(Collective::gather, 2, 1, 4, 10), Flow{});
    EXPECT_EQ(flow_of(Collective::scatter, 0, 2, 4, 10), (Flow{20, 0, 10}));
    EXPECT_EQ(flow_of(Collective::scatter, 1, 2, 4, 10), Flow{});
}

TEST(Flow, OfWholeBuffersGoesToOneRankOrAll) {
    for (std::uint32_t to = 0; to < 4; ++to) {
        EXPECT_EQ(flow_of(Collective::broadcast, 0, to, 4, 9).count, 9U);
        EXPECT_EQ(flow_of(Collective::broadcast, 1, to, 4, 9).count, 0U);
        EXPECT_EQ(flow_of(Collective::send_recv, 3, to, 4, 9).count, to == 0 ? 9U : 0U);
        EXPECT_EQ(flow_of(Collective::bisection, 3, to, 4, 9).count, to == 1 ? 9U : 0U);
        EXPECT_EQ(flow_of(Collective::bisection, 1, to, 4, 9).count, to == 3 ? 9U : 0U);
    }
}

// Of 8 elements: 2, 4, 6, 8, and again from the fourth rank after one's own.
TEST(Flow, OfUnevenPartsFillsQuartersOfTheRoom) {
    const auto count = [](std::uint32_t from, std::uint32_t to) {
        return flow_of(Collective::all_to_all_v, from, to, 6, 8).count;
    };
    EXPECT_EQ(count(0, 0), 2U);
    EXPECT_EQ(count(0, 1), 4U);
    EXPECT_EQ(count(0, 3), 8U);
    EXPECT_EQ(count(0, 4), 2U);
    EXPECT_EQ(count(5, 0), 4U);
    EXPECT_EQ(count(3, 2), 4U);
    EXPECT_EQ(flow_of(Collective::all_to_all_v, 5, 2, 6, 8).sent_at, 16U);
    EXPECT_EQ(flow_of(Collective::all_to_all_v, 5, 2, 6, 8).received_at, 40U);
}

// Nor does a part ever leave its room: 1 element has quarters too.
TEST(Flow, OfUnevenPartsIsNeverNothing) {
    for (std::uint32_t to = 0; to < 5; ++to) {
        EXPECT_EQ(flow_of(Collective::all_to_all_v, 0, to, 5, 1).count, 1U);
    }
}

TEST(Flow, OfAReductionIsNothing) {
    for (const auto& row : collectives) {
        std::size_t moved = 0;
        for (std::uint32_t to = 0; to < 2; ++to) {
            moved += flow_of(row.collective, 0, to, 2, 1).count;
        }
        EXPECT_EQ(moved == 0, row.reduces) << row.name;
    }
}

}  // namespace
}  // namespace distgpu::scaling
