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
    results.measurements = {
        {0, Collective::all_reduce, DataType::bf16, true, 1ULL << 30U,
         Statistics{5e-3, 0, 0, 0, 0, 0.014, 20}},
        {1, Collective::all_reduce, DataType::f32, false, 8, Statistics{1e-5, 0, 0, 0, 0, 0, 20}}};
    return results;
}

TEST(TableHeader, NamesBackEndAndShape) {
    const std::string header = table_header(two_nodes());
    EXPECT_EQ(header.substr(0, header.find('\n')),
              "# backend nccl: 2 nodes, 16 ranks; started 2026-11-21T12:00:00Z");
    EXPECT_EQ(header.find("host memory"), std::string::npos);
}

TEST(TableHeader, HostMemoryIsStamped) {
    Results results = two_nodes();
    results.backend = "mpi";
    EXPECT_NE(table_header(results).find("\n# backend=mpi (host memory; not a GPU measurement)\n"),
              std::string::npos);
}

TEST(TableHeader, SaysWhatWasUnusualInTheCheck) {
    Results results = two_nodes();
    EXPECT_EQ(table_header(results).find("check"), std::string::npos);
    results.check = "off";
    EXPECT_NE(table_header(results).find("\n# check of data: off\n"), std::string::npos);
}

// Scripts that read nccl-tests' output skip lines that begin so.
TEST(TableHeader, EveryLineIsAComment) {
    const std::string header = table_header(two_nodes());
    for (std::size_t line = 0; line < header.size(); line = header.find('\n', line) + 1) {
        EXPECT_EQ(header[line], '#') << header.substr(line);
    }
    EXPECT_EQ(header.back(), '\n');
}

TEST(TableHeader, EndsWithTheColumnsAndTheirUnits) {
    const std::string header = table_header(two_nodes());
    EXPECT_EQ(header.substr(header.rfind("\n#", header.rfind("\n#") - 1) + 1),
              "#        size  collective      op    type      place  nodes  ranks         time"
              "      algbw      busbw      cv  group\n"
              "#         (B)                                                              (us)"
              "     (GB/s)     (GB/s)     (%)\n");
}

TEST(TableRow, ColumnsStandUnderTheirNames) {
    const Results results = two_nodes();
    const std::string header = table_header(results);
    const std::string names = header.substr(header.rfind("\n#", header.rfind("\n#") - 1) + 1);
    const std::string row = table_row(results, results.measurements[0]);
    EXPECT_EQ(
        row,
        "   1073741824  all-reduce      sum   bfloat16  in         2     16      5000.00     214.75"
        "     402.65     1.4  2 nodes\n");
    const auto end_of = [](const std::string& text, const std::string& word) {
        return text.find(word) + word.size();
    };
    EXPECT_EQ(end_of(row, "1073741824"), end_of(names, "size"));
    EXPECT_EQ(row.find("all-reduce"), names.find("collective"));
    EXPECT_EQ(end_of(row, "5000.00"), end_of(names, "time"));
    EXPECT_EQ(end_of(row, "402.65"), end_of(names, "busbw"));
    EXPECT_EQ(row.find("2 nodes"), names.find("group"));
}

TEST(TableRow, OneRankHasNoBusBandwidth) {
    const Results results = two_nodes();
    EXPECT_EQ(
        table_row(results, results.measurements[1]),
        "            8  all-reduce      sum   float     out        1      1        10.00       0.00"
        "        n/a     0.0  1 GPU of n1\n");
}

TEST(TableRow, NoTimeIsNotDividedBy) {
    Results results = two_nodes();
    results.measurements[0].time.median = 0;
    EXPECT_NE(table_row(results, results.measurements[0]).find(" n/a        n/a "),
              std::string::npos);
}

TEST(TableFooter, PutsPublishedFiguresBesideTheMeasuredOne) {
    Results results = two_nodes();
    EXPECT_EQ(table_footer(results), "");  // the GPUs are not known
    results.nodes = {{"n1", 8, std::vector<std::string>(8, "NVIDIA A100-SXM4-80GB GPU-1"), {}}};
    results.groups = {{Group::Kind::nodes, {0}, 8, 1}};
    // 1 GiB in 8 ms: 134.22 GB/s; times 2 * 7/8: 234.88 GB/s.
    results.measurements = {{0, Collective::all_reduce, DataType::f32, false, 1ULL << 30U,
                             Statistics{8e-3, 0, 0, 0, 0, 0, 20}}};
    const std::string footer = table_footer(results);
    EXPECT_EQ(footer.substr(0, footer.find("; https")),
              "# all-reduce on 8 A100: 234.88 GB/s at 1 GiB; published 234.89 GB/s (measured, 16 "
              "GiB");
}

// n2 is named twice, a switch and its nodes are not.
TEST(FactsLines, AreOfTheNodesThatAreNamed) {
    ReportInput input;
    input.results = two_nodes();
    input.results.nodes[0].facts = {"GPU 0: Xid 79"};
    input.results.nodes[1].facts = {"GPU 3: PCIe x8, where x16 is possible", "GPU 3: Xid 31"};
    input.slow_parts = {{"leaf s4", Limiter::Kind::leaf, 0.6, std::nullopt}};
    EXPECT_EQ(facts_lines(input), "");
    input.slow_parts.push_back({"n2/mlx5_3", Limiter::Kind::node_rail, 0.6, std::nullopt, 1U});
    input.slow_parts.push_back({"n2", Limiter::Kind::node, 0.6, std::nullopt, 1U});
    EXPECT_EQ(facts_lines(input),
              "# n2: GPU 3: PCIe x8, where x16 is possible\n# n2: GPU 3: Xid 31\n");
}

}  // namespace
}  // namespace distgpu::scaling
