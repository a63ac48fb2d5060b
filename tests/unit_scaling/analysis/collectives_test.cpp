// Factors and names as in nccl-tests.
#include "analysis/collectives.h"

#include "synthetic_results.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

namespace distgpu::scaling {
namespace {

// n = 4: 2 * 3 / 4 for all-reduce; 3 / 4 if one of four parts stays; 1 for a buffer that goes from
// rank to rank.
TEST(BusBandwidth, HasTheFactorOfTheCollective) {
    const std::vector<double> factors{1.5, 0.75, 0.75, 1, 0.75, 1};
    ASSERT_EQ(factors.size(), collectives.size());
    for (std::size_t i = 0; i < factors.size(); ++i) {
        EXPECT_DOUBLE_EQ(collectives[i].bus_factor(4), factors[i]) << collectives[i].name;
    }
    EXPECT_DOUBLE_EQ(info_of(Collective::all_reduce).bus_factor(4096), 2.0 * 4095 / 4096);
}

TEST(BusBandwidth, IsTheMediansAlgorithmBandwidthTimesTheFactor) {
    auto results = synthetic_results(1, 8);
    const auto group = add_nodes(results, 1);
    // 8 GB in 0.05 s are 160 GB/s; times 2 * 7 / 8.
    add_measurement(results, group, {.bytes = 8'000'000'000, .seconds = 0.05});
    ASSERT_TRUE(bus_bandwidth(results, results.measurements[0]));
    EXPECT_DOUBLE_EQ(*bus_bandwidth(results, results.measurements[0]), 280e9);
    EXPECT_DOUBLE_EQ(*algorithm_bandwidth(results.measurements[0]), 160e9);
}

TEST(BusBandwidth, NoneWithoutATimeOrWithOneRank) {
    auto results = synthetic_results(2, 1);
    add_measurement(results, add_nodes(results, 1), {.bytes = 8, .seconds = 1});
    add_measurement(results, add_nodes(results, 2), {.bytes = 8, .seconds = 0});
    EXPECT_FALSE(bus_bandwidth(results, results.measurements[0]));
    EXPECT_TRUE(algorithm_bandwidth(results.measurements[0]));
    EXPECT_FALSE(bus_bandwidth(results, results.measurements[1]));
    EXPECT_FALSE(algorithm_bandwidth(results.measurements[1]));
}

TEST(Names, AreFoundOnlyIfExact) {
    std::set<std::string_view> names;
    for (const auto& row : collectives) {
        EXPECT_EQ(collective_named(row.name), row.collective) << row.name;
        names.insert(row.name);
    }
    for (const auto& row : data_types) {
        EXPECT_EQ(data_type_named(row.name), row.type) << row.name;
        names.insert(row.name);
    }
    EXPECT_EQ(names.size(), collectives.size() + data_types.size());
    for (const char* const name : {"all_reduce", "all-red", "", "reduce"}) {
        EXPECT_FALSE(collective_named(name)) << name;
    }
    EXPECT_FALSE(data_type_named("Float"));
}

// 64 bytes are 16 floats, of which each of 3 ranks has 5, or 32 halves.
TEST(BufferSizes, TheRemainderIsLeftOut) {
    EXPECT_EQ(buffer_sizes({Collective::all_reduce, DataType::f32, false, 64}, 3),
              (BufferSizes{16, 16, 16}));
    EXPECT_EQ(buffer_sizes({Collective::all_gather, DataType::f32, false, 64}, 3),
              (BufferSizes{5, 5, 15}));
    EXPECT_EQ(buffer_sizes({Collective::reduce_scatter, DataType::f32, false, 64}, 3),
              (BufferSizes{5, 15, 5}));
    EXPECT_EQ(buffer_sizes({Collective::all_to_all, DataType::f16, false, 64}, 3),
              (BufferSizes{10, 30, 30}));
    EXPECT_EQ(buffer_sizes({Collective::all_gather, DataType::f32, false, 8}, 3).count, 0U);
}

}  // namespace
}  // namespace distgpu::scaling
