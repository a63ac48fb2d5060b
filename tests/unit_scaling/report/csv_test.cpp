#include "report/formats.h"

#include <gtest/gtest.h>

#include <string>

namespace distgpu::scaling {
namespace {

// An all-reduce of 1000 bytes by 2 ranks in 1 ms: 1e6 bytes/s, factor 2 (n-1)/n = 1.
ReportInput one_row() {
    ReportInput input;
    input.results.backend = "nccl";
    input.results.started = "2026-11-21T12:00:00Z";
    input.results.nodes = {{"n1", 1, {}, {}}, {"n2", 1, {}, {}}};
    input.results.groups = {{Group::Kind::nodes, {0, 1}, 2, 2}};
    input.results.measurements = {{0, Collective::all_reduce, DataType::f32, false, 1000,
                                   Statistics{1e-3, 5e-4, 6e-4, 2e-3, 3e-3, 0.25, 20, 0.004}}};
    input.verdict = "2 nodes: ...";
    return input;
}

std::string row_of(const ReportInput& input) {
    const std::string text = to_csv(input);
    return text.substr(text.find("\r\n") + 2);
}

TEST(Csv, HasAHeader) {
    EXPECT_EQ(
        to_csv({}),
        "backend,note,started,complete,group_kind,group,nodes,ranks,collective,op,type,"
        "in_place,bytes,median_s,mean_s,min_s,p5_s,p95_s,p99_s,cv,iterations,algbw_bytes_per_s,"
        "busbw_bytes_per_s\r\n");
}

TEST(Csv, ARowAMeasurement) {
    EXPECT_EQ(row_of(one_row()),
              "nccl,,2026-11-21T12:00:00Z,true,nodes,2 nodes,2,2,all-reduce,sum,float,false,1000,"
              "0.001,0.004,0.0005,0.0006,0.002,0.003,0.25,20,1000000,1000000\r\n");
}

TEST(Csv, HostMemoryIsStamped) {
    ReportInput input = one_row();
    input.results.backend = "mpi";
    EXPECT_EQ(row_of(input).substr(0, 40), "mpi,host memory; not a GPU measurement,2");
}

TEST(Csv, PartialResultsSaySo) {
    ReportInput input = one_row();
    input.results.failure = Failure{};
    EXPECT_NE(row_of(input).find("Z,false,nodes"), std::string::npos);
}

TEST(Csv, WhatIsNotDefinedIsEmpty) {
    ReportInput input = one_row();
    input.results.groups[0].ranks = 1;
    const std::string row = row_of(input);
    EXPECT_EQ(row.substr(row.find(",20,")), ",20,1000000,\r\n");
}

// RFC 4180, section 2, rules 5 to 7.
TEST(Csv, SeparatorsQuotesAndLineEndsAreQuoted) {
    ReportInput input = one_row();
    input.results.groups = {{Group::Kind::pair, {0, 1}, 2, 0}};
    input.results.nodes[0].name = "a,\"b\"";
    EXPECT_NE(row_of(input).find(",pair,\"a,\"\"b\"\" - n2\",2,"), std::string::npos);
    input.results.nodes[0].name = "a\nb";
    EXPECT_NE(row_of(input).find(",\"a\nb - n2\","), std::string::npos);
}

}  // namespace
}  // namespace distgpu::scaling
