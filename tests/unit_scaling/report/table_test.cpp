#include "report/formats.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu::scaling {
namespace {

Results two_nodes() {
    Results results;
    results.backend = "nccl";
    results.started = "2026-11-21T12:00:00Z";
    results.nodes = {{"n1", 8, {}, {}}, {"n2", 8, {}, {}}};
    results.groups = {{Group::Kind::nodes, {0, 1}, 16, 2}, {Group::Kind::gpus, {0}, 1, 1}};
    // 1 GiB in 5 ms: 214.75 GB/s; times 2 * 15/16: 402.65 GB/s.
    results.measurements = {{0,
                             {Collective::all_reduce, DataType::bf16, true, 1ULL << 30U},
                             Statistics{5e-3, 0, 0, 0, 0, 0.014, 20}},
                            {1,
                             {Collective::all_reduce, DataType::f32, false, 8},
                             Statistics{1e-5, 0, 0, 0, 0, 0, 20}}};
    return results;
}

constexpr const char* columns =
    "#        size  collective      type      place  nodes  ranks         time      algbw"
    "      busbw      cv  group\n";

TEST(TableHeader, HasBackEndNodesAndColumnsWithUnits) {
    EXPECT_EQ(table_header(two_nodes()),
              std::string("# backend nccl: 2 nodes, 16 ranks; started 2026-11-21T12:00:00Z\n"
                          "# time: median over the iterations of the slowest rank\n") +
                  columns +
                  "#         (B)                                                        (us)"
                  "     (GB/s)     (GB/s)     (%)\n");
}

TEST(TableHeader, NotesHostMemoryAndUncheckedData) {
    Results results = two_nodes();
    results.backend = "mpi";
    results.checked = false;
    EXPECT_NE(table_header(results).find("\n# backend=mpi (host memory; not a GPU measurement)\n"
                                         "# data check: off\n"),
              std::string::npos);
}

TEST(TableRow, IsAlignedWithTheHeader) {
    const Results results = two_nodes();
    EXPECT_EQ(table_row(results, results.measurements[0]),
              "   1073741824  all-reduce      bfloat16  in         2     16      5000.00     214.75"
              "     402.65     1.4  2 nodes\n");
}

TEST(TableRow, OneRankHasNoBusBandwidth) {
    const Results results = two_nodes();
    EXPECT_EQ(table_row(results, results.measurements[1]),
              "            8  all-reduce      float     out        1      1        10.00       0.00"
              "        n/a     0.0  1 GPU of n1\n");
}

TEST(FaultLines, AreForNamedNodes) {
    Report report{two_nodes()};
    report.results.nodes[0].fault = "GPU 0000:3b:00.0: gone";
    report.results.nodes[1].fault = "mlx5_3:1: down";
    report.slow_parts = {{"leaf s4", Limiter::Kind::leaf, 0.6, std::nullopt}};
    EXPECT_EQ(fault_lines(report), "");
    report.slow_parts.push_back({"n2/mlx5_3", Limiter::Kind::node_rail, 0.6, std::nullopt, 1U});
    report.slow_parts.push_back({"n2", Limiter::Kind::node, 0.6, std::nullopt, 1U});
    EXPECT_EQ(fault_lines(report), "# n2: mlx5_3:1: down\n");
}

// 100 s on one node and 125 s on two: weak scaling is 100 / 125, strong scaling 100 / (2 * 125).
const std::vector<ScalingPoint> slower{{1, 100, 1, 1}, {2, 125, 0.8, 0.4}};

TEST(TimesTable, EndsWithTheVerdict) {
    const std::string table = times_table(slower);
    EXPECT_NE(table.find("         2           125      80.0 %        40.0 %\n"),
              std::string::npos);
    const std::string end =
        "\n2 nodes: 80% of linear (weak), 40% (strong); limiter: not measured\n";
    EXPECT_EQ(table.substr(table.size() - end.size()), end);
}

}  // namespace
}  // namespace distgpu::scaling
