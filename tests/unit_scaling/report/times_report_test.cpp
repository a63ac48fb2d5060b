// What is printed of 100 s on one node and 125 s on two: weak scaling is 100 / 125, strong scaling
// 100 / (2 * 125).
#include "report/times_report.h"

#include "report/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

const TimesReport slower{{{1, 100, 1}, {2, 125, 0.8}}, {{1, 100, 1}, {2, 125, 0.4}}};

TEST(TimesReport, SaysWhyTimesCannotBeCompared) {
    using Reason = UnusableTimes::Reason;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    struct Row {
        UnusableTimes why;
        std::string message;
    };
    const std::vector<Row> rows = {
        {{Reason::too_few, 1, {}},
         "distgpu: times: 1 given; give times for at least two numbers of nodes, such as 1=100 "
         "2=50"},
        {{Reason::no_nodes, 2, {0, 50}},
         "distgpu: times: 0 nodes; the number of nodes must be at least 1"},
        {{Reason::not_positive, 2, {2, -5}},
         "distgpu: times: -5 s for 2 nodes; give seconds above 0"},
        {{Reason::not_positive, 2, {1, infinity}},
         "distgpu: times: inf s for 1 node; give seconds above 0"},
        {{Reason::twice, 3, {2, 51}},
         "distgpu: times: 2 nodes given twice; give one time for each number of nodes"},
    };
    for (const auto& row : rows) EXPECT_EQ(refusal_of(row.why).message(), row.message);
}

TEST(TimesReport, TableEndsWithTheVerdict) {
    const std::string table = times_table(slower);
    EXPECT_THAT(table, HasSubstr("         2           125      80.0 %        40.0 %\n"));
    EXPECT_THAT(table, HasSubstr("\n# weak: each node had the same work in every run; strong: "));
    EXPECT_THAT(table,
                EndsWith("\n2 nodes: 80% of linear (weak), 40% (strong); limiter: not measured\n"));
}

TEST(TimesReport, Csv) {
    EXPECT_EQ(times_csv(slower), "nodes,seconds,weak,strong\r\n1,100,1,1\r\n2,125,0.8,0.4\r\n");
}

TEST(TimesReport, Json) {
    const auto json = nlohmann::json::parse(times_json(slower));
    EXPECT_EQ(json.at("schema"), "distgpu.scaling-times/1");
    EXPECT_EQ(json.at("baseline_nodes"), 1);
    EXPECT_EQ(json.at("times").size(), 2U);
    EXPECT_EQ(json.at("times").at(1),
              (nlohmann::json{{"nodes", 2}, {"seconds", 125.0}, {"weak", 0.8}, {"strong", 0.4}}));
}

}  // namespace
}  // namespace distgpu::scaling
