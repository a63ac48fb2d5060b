#include "report/reference_figures.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace distgpu::scaling {
namespace {

constexpr std::uint64_t gib = 1ULL << 30U;

// One node of 8 H200, 1 GiB and 4 GiB out of place, 8 GiB in place.
Results h200() {
    Results results;
    results.backend = "nccl";
    results.nodes = {{"n1", 8, std::vector<std::string>(8, "NVIDIA H200 GPU-1"), {}}};
    results.groups = {{Group::Kind::nodes, {0}, 8, 1}};
    const Statistics time{0.02, 0, 0, 0, 0, 0, 20};
    results.measurements = {
        {0, Collective::all_reduce, DataType::f32, false, gib, time},
        {0, Collective::all_reduce, DataType::f32, false, 4 * gib, time},
        {0, Collective::all_gather, DataType::f32, false, 8 * gib, time},
        {0, Collective::all_reduce, DataType::f32, true, 8 * gib, time},
        {0, Collective::all_reduce, DataType::f32, false, 8 * gib, time, Op::max}};
    return results;
}

TEST(ReferenceFigures, EachHasASourceAndAPlausibleRate) {
    for (const ReferenceFigure& figure : reference_figures()) {
        EXPECT_EQ(figure.source.substr(0, 8), "https://");
        EXPECT_EQ(figure.ranks, figure.nodes * 8);
        // NVLink 3 to 5 carry 300 to 900 GB/s; NVLS can double what a ring makes of it.
        EXPECT_GT(figure.busbw, 100e9);
        EXPECT_LT(figure.busbw, 1800e9);
    }
}

// 4 GiB in 20 ms, times 7/4: 375.81 GB/s.
TEST(CompareWithReferences, TakesTheLargestOutOfPlaceAllReduceOfTheSameShape) {
    const auto comparisons = compare_with_references(h200());
    ASSERT_EQ(comparisons.size(), 2U);
    EXPECT_EQ(comparisons[0].figure->algorithm, "Ring");
    EXPECT_EQ(comparisons[1].figure->algorithm, "NVLS");
    EXPECT_EQ(comparisons[0].bytes, 4 * gib);
    EXPECT_NEAR(comparisons[0].busbw.value_or(0), 375.81e9, 1e7);
}

TEST(CompareWithReferences, HostMemoryIsNeverCompared) {
    Results results = h200();
    results.backend = "mpi";
    EXPECT_TRUE(compare_with_references(results).empty());
}

TEST(CompareWithReferences, OtherGpusShapesAndSmallSizesAreNotCompared) {
    Results results = h200();
    results.nodes[0].gpus[7] = "NVIDIA H100";
    EXPECT_TRUE(compare_with_references(results).empty()) << "a mixed node";
    results = h200();
    results.nodes[0].gpus.clear();
    EXPECT_TRUE(compare_with_references(results).empty()) << "not known";
    results = h200();
    results.groups[0].ranks = 4;
    EXPECT_TRUE(compare_with_references(results).empty()) << "4 of 8 GPUs";
    results = h200();
    for (Measurement& measurement : results.measurements) measurement.bytes = gib - 4;
    EXPECT_TRUE(compare_with_references(results).empty()) << "below 1 GiB";
}

TEST(ReferenceText, LeavesOutWhatIsNotKnown) {
    EXPECT_EQ(reference_text({"H200", 4, 32, 364.87e9, 4 * gib, "Ring", "2.27.7", "measured",
                              "https://a", "2026-08-07"}),
              "364.87 GB/s (measured, 4 GiB, Ring, NCCL 2.27.7; https://a, 2026-08-07)");
    EXPECT_EQ(reference_text({"H200", 1, 8, 5e11, 0, "", "", "expected", "https://a", ""}),
              "500.00 GB/s (expected; https://a)");
}

}  // namespace
}  // namespace distgpu::scaling
