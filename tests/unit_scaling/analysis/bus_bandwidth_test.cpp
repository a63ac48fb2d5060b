// Factors and names as nccl-tests has them.
#include "analysis/bus_bandwidth.h"

#include "made_up_results.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

TEST(BusFactor, IsThatOfTheCollective) {
    // n = 4: all-reduce 2 * 3 / 4; one part of four stays: 3 / 4; one buffer that goes from rank to
    // rank 1. all-to-all-v: of four rooms 2, 3 and 4 quarters go to others, 9 of 16.
    struct Row {
        Collective collective;
        double factor;
    };
    const std::vector<Row> rows = {
        {Collective::all_reduce, 1.5},
        {Collective::all_gather, 0.75},
        {Collective::reduce_scatter, 0.75},
        {Collective::broadcast, 1},
        {Collective::reduce, 1},
        {Collective::all_to_all, 0.75},
        {Collective::send_recv, 1},
        {Collective::gather, 0.75},
        {Collective::scatter, 0.75},
        {Collective::all_to_all_v, 0.5625},
        {Collective::bisection, 1},
    };
    ASSERT_EQ(rows.size(), collectives.size());
    for (const auto& row : rows) {
        const auto name = std::string(row_of(row.collective).name);
        ASSERT_TRUE(bus_factor(row.collective, 4)) << name;
        EXPECT_DOUBLE_EQ(*bus_factor(row.collective, 4), row.factor) << name;
        EXPECT_FALSE(bus_factor(row.collective, 1)) << name;
    }
}

TEST(BusFactor, OfManyRanks) {
    EXPECT_DOUBLE_EQ(*bus_factor(Collective::all_reduce, 4096), 2.0 * 4095 / 4096);
}

TEST(BusBandwidth, IsTheMediansAlgorithmBandwidthTimesTheFactor) {
    auto results = made_up_results(1, 8);
    const auto group = add_nodes(results, 1);
    // 8 GB in 0.05 s are 160 GB/s; times 2 * 7 / 8.
    add_measurement(results, group, {.bytes = 8'000'000'000, .seconds = 0.05});
    ASSERT_TRUE(bus_bandwidth(results, results.measurements[0]));
    EXPECT_DOUBLE_EQ(*bus_bandwidth(results, results.measurements[0]), 280e9);
    EXPECT_DOUBLE_EQ(*algorithm_bandwidth(results.measurements[0]), 160e9);
}

TEST(Bandwidth, NoTimeHasNoneAndOneRankNoBusBandwidth) {
    auto results = made_up_results(2, 1);
    add_measurement(results, add_nodes(results, 1), {.bytes = 8, .seconds = 1});
    add_measurement(results, add_nodes(results, 2), {.bytes = 8, .seconds = 0});
    EXPECT_FALSE(bus_bandwidth(results, results.measurements[0]));
    EXPECT_TRUE(algorithm_bandwidth(results.measurements[0]));
    EXPECT_FALSE(bus_bandwidth(results, results.measurements[1]));
    EXPECT_FALSE(algorithm_bandwidth(results.measurements[1]));
}

TEST(Names, AreFoundAgain) {
    std::set<std::string_view> names;
    for (const auto& row : collectives) {
        EXPECT_EQ(collective_named(row.name), row.collective) << row.name;
        EXPECT_EQ(row_of(row.collective).name, row.name);
        names.insert(row.name);
    }
    for (const auto& row : data_types) {
        EXPECT_EQ(data_type_named(row.name), row.type) << row.name;
        EXPECT_EQ(row_of(row.type).name, row.name);
        names.insert(row.name);
    }
    for (const auto& row : ops) {
        EXPECT_EQ(op_named(row.name), row.op) << row.name;
        EXPECT_EQ(row_of(row.op).name, row.name);
        names.insert(row.name);
    }
    EXPECT_EQ(names.size(), collectives.size() + data_types.size() + ops.size());
}

TEST(Names, AreExact) {
    EXPECT_EQ(collective_named("all-to-all"), Collective::all_to_all);
    EXPECT_FALSE(collective_named("all_reduce"));
    EXPECT_FALSE(collective_named("all-red"));
    EXPECT_FALSE(collective_named(""));
    EXPECT_FALSE(data_type_named("Float"));
}

TEST(Names, WhatIsCopiedHasNoOperation) {
    EXPECT_EQ(op_name(Collective::reduce_scatter, Op::min), "min");
    EXPECT_EQ(op_name(Collective::all_gather, Op::sum), "none");
}

TEST(DataTypes, HaveTheirSizes) {
    EXPECT_EQ(row_of(DataType::f32).bytes, 4);
    EXPECT_EQ(row_of(DataType::f64).bytes, 8);
    EXPECT_EQ(row_of(DataType::f16).bytes, 2);
    EXPECT_EQ(row_of(DataType::bf16).bytes, 2);
    EXPECT_EQ(row_of(DataType::i8).bytes, 1);
    EXPECT_EQ(row_of(DataType::i32).bytes, 4);
    EXPECT_EQ(row_of(DataType::i64).bytes, 8);
}

}  // namespace
}  // namespace distgpu::scaling
