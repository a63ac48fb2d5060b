// The page's parts: escaping, marks of the axes, lines, the matrix of pairs.
#include "report/html/line_plot.h"
#include "report/html/markup.h"
#include "report/html/pair_matrix.h"
#include "report/html/ticks.h"
#include "sample_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace distgpu::scaling::html {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pointwise;

std::size_t count(std::string_view text, std::string_view word) {
    std::size_t found = 0;
    for (auto place = text.find(word); place != std::string_view::npos;
         place = text.find(word, place + word.size())) {
        ++found;
    }
    return found;
}

TEST(Escaped, AllThatMarkupIsMadeOf) {
    EXPECT_EQ(escaped("<a href=\"x\" id='y'>&amp;"),
              "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;");
    EXPECT_EQ(escaped("n\u00f6de 1"), "n\u00f6de 1");
}

TEST(LinearTicks, RoundStepsUpToTheHighestValue) {
    EXPECT_THAT(linear_ticks(1), Pointwise(DoubleEq(), {0., 0.2, 0.4, 0.6, 0.8, 1.}));
    EXPECT_THAT(linear_ticks(480), ElementsAre(0, 100, 200, 300, 400, 500));
    EXPECT_THAT(linear_ticks(4), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(linear_ticks(0.03),
                Pointwise(DoubleEq(), {0., 0.005, 0.01, 0.015, 0.02, 0.025, 0.03}));
    EXPECT_THAT(linear_ticks(0), ElementsAre(0, 1));
}

TEST(PowerOfTwoTicks, OnlyThoseWithin) {
    EXPECT_THAT(power_of_two_ticks(8, 64, 9), ElementsAre(8, 16, 32, 64));
    EXPECT_THAT(power_of_two_ticks(3, 20, 9), ElementsAre(4, 8, 16));
    EXPECT_THAT(power_of_two_ticks(0.5, 2, 9), ElementsAre(0.5, 1, 2));
}

// 8 B to 8 GiB are 31 powers: with room for 9 every fourth.
TEST(PowerOfTwoTicks, AreThinnedOut) {
    const auto ticks = power_of_two_ticks(8, 8589934592.0, 9);
    EXPECT_EQ(ticks.size(), 8U);
    EXPECT_EQ(ticks[0], 8);
    EXPECT_EQ(ticks[1], 128);
}

LinePlot plot_of(std::size_t lines) {
    LinePlot plot;
    plot.id = "p";
    plot.x_text = plot.y_text = [](double) { return std::string("mark"); };
    for (std::size_t i = 0; i < lines; ++i) {
        plot.lines.push_back({"line " + std::to_string(i) + ".", {{1, 1, "a"}, {4, 0.5, "b"}}});
    }
    return plot;
}

// The plot is 560 wide from 70 and 240 high from 60. x = 2 of 1 .. 4 is half of the way on a
// logarithmic axis, y = 0.5 of 0 .. 1 half of the height.
TEST(LinePlot, PointsStandWhereTheAxesSay) {
    LinePlot plot = plot_of(0);
    plot.lines = {{"one", {{1, 1, ""}, {2, 0.5, ""}, {4, 0, ""}}}};
    EXPECT_THAT(to_svg(plot), HasSubstr("points=\"70.0,60.0 350.0,180.0 630.0,300.0\""));
}

TEST(LinePlot, ASingleXStandsInTheMiddle) {
    LinePlot plot = plot_of(0);
    plot.lines = {{"one", {{8, 1, ""}}}};
    EXPECT_THAT(to_svg(plot), HasSubstr("points=\"350.0,60.0\""));
}

TEST(LinePlot, TheAxisReachesTheLinearLine) {
    LinePlot plot = plot_of(0);
    plot.linear = 1;
    plot.lines = {{"one", {{1, 0.5, ""}}}};
    EXPECT_THAT(to_svg(plot), HasSubstr("points=\"350.0,180.0\""));
}

TEST(LinePlot, HasTitleDescriptionAndTips) {
    LinePlot plot = plot_of(1);
    plot.title = "a < b";
    plot.description = "what it shows";
    const std::string svg = to_svg(plot);
    EXPECT_THAT(svg, HasSubstr("aria-labelledby=\"p-title p-desc\""));
    EXPECT_THAT(svg, HasSubstr("<title id=\"p-title\">a &lt; b</title>"));
    EXPECT_THAT(svg, HasSubstr("<desc id=\"p-desc\">what it shows</desc>"));
    EXPECT_THAT(svg, HasSubstr("<title>b</title></circle>"));
}

// Seven colours; the eighth line has the first's, and is dashed.
TEST(LinePlot, LinesDifferInColourOrDashes) {
    const std::string svg = to_svg(plot_of(8));
    EXPECT_THAT(svg, HasSubstr("class=\"line0 dash0\""));
    EXPECT_THAT(svg, HasSubstr("class=\"line6 dash0\""));
    EXPECT_THAT(svg, HasSubstr("class=\"line0 dash1\""));
}

TEST(LinePlot, MoreThan21LinesAreCutAndItSaysSo) {
    EXPECT_THAT(to_svg(plot_of(21)), Not(HasSubstr("figcaption")));
    const std::string svg = to_svg(plot_of(30));
    EXPECT_EQ(count(svg, "<polyline"), 21U);
    EXPECT_THAT(svg, HasSubstr("The last 21 of 30 lines; the table has all."));
    EXPECT_THAT(svg, HasSubstr(">line 29.<"));
    EXPECT_THAT(svg, Not(HasSubstr(">line 8.<")));
}

PairMatrix matrix_of(const ReportInput& input) {
    return pair_matrix(input.results.nodes, input.evidence);
}

TEST(PairMatrix, IsEmptyWithoutPairs) {
    EXPECT_EQ(matrix_of(sample::results({.nodes = 4, .rounds = 0})).size, 0U);
}

// Pairs of 2 ranks: all-reduce has factor 1. 1 GB in 10, 20 and 40 ms: median 50 GB/s.
TEST(PairMatrix, ACellIsTheMedianOfItsPairsMatches) {
    Results results;
    results.nodes = {{"a", 1, {}, {}}, {"b", 1, {}, {}}, {"c", 1, {}, {}}};
    results.groups = {{Group::Kind::pair, {2, 0}, 2, 0}};
    for (const double seconds : {0.01, 0.04, 0.02}) {
        results.measurements.push_back({0, Collective::all_reduce, DataType::f32, false, 1000000000,
                                        Statistics{seconds, 0, 0, 0, 0, 0, 1}});
    }
    const PairMatrix matrix = pair_matrix(results.nodes, evidence_of(results));
    EXPECT_EQ(matrix.size, 3U);
    EXPECT_EQ(matrix.bytes, 1000000000U);
    EXPECT_EQ(matrix.at(0, 2), 50e9);
    EXPECT_EQ(matrix.at(2, 0), 50e9);
    EXPECT_FALSE(matrix.at(0, 1));
    EXPECT_THAT(matrix.names, ElementsAre("a", "b", "c"));
}

TEST(PairMatrix, LargeClustersAreAggregatedAndKeepTheSlowNodeVisible) {
    const PairMatrix of_64 = matrix_of(sample::results({.nodes = 64, .rounds = 1}));
    EXPECT_EQ(of_64.size, 64U);
    EXPECT_EQ(of_64.nodes_per_row, 1U);
    // 65 nodes are more than 64 rows: two a row, 33 rows, the last of one node.
    const PairMatrix matrix =
        matrix_of(sample::results({.nodes = 65, .rounds = 65, .slow_node = 9}));
    EXPECT_EQ(matrix.size, 33U);
    EXPECT_EQ(matrix.nodes_per_row, 2U);
    EXPECT_EQ(matrix.names.front(), "node001 .. node002");
    EXPECT_EQ(matrix.names.back(), "node065");
    // Node 9 (from 0) is in row 4: 60 % of the others' rate there, and nowhere else.
    for (std::size_t row = 0; row < matrix.size; ++row) {
        for (std::size_t column = 0; column < matrix.size; ++column) {
            const auto cell = matrix.at(row, column);
            // In a row of one node, and of two that are the slow one and its neighbour, too.
            if (!cell) continue;
            EXPECT_EQ(*cell < 300e9, row == 4 || column == 4) << row << ' ' << column;
        }
    }
}

TEST(HeatMap, HasANumberInEachCellAsLongAsTheyFit) {
    const std::string of_4 = to_svg(matrix_of(sample::results({.nodes = 4})));
    EXPECT_EQ(count(of_4, "class=\"cell\""), 12U);
    EXPECT_EQ(count(of_4, "class=\"none\""), 4U);
    EXPECT_EQ(count(of_4, "font-size:10px"), 12U);
    const std::string of_40 = to_svg(matrix_of(sample::results({.nodes = 40, .rounds = 39})));
    EXPECT_EQ(count(of_40, "class=\"cell\""), 40U * 39U);
    EXPECT_EQ(count(of_40, "<title>node"), 40U * 39U);
    EXPECT_EQ(count(of_40, "font-size:10px"), 0U);
}

// viridis from dark to light: the slowest of the range and the fastest.
TEST(HeatMap, SlowIsDarkAndFastIsLight) {
    PairMatrix matrix{2, 1, {"a", "b"}, {std::nullopt, 10e9, 100e9, std::nullopt}, 8};
    const std::string svg = to_svg(matrix);
    EXPECT_THAT(svg, HasSubstr("fill=\"#440154\"><title>a - b: 10.00 GB/s"));
    EXPECT_THAT(svg, HasSubstr("fill=\"#fde725\"><title>b - a: 100.00 GB/s"));
}

// 97 of 50 .. 100 is 94 % of the way: noise of 3 % does not look like a slow node.
TEST(HeatMap, NoiseLooksLikeNoise) {
    PairMatrix matrix{2, 1, {"a", "b"}, {std::nullopt, 97e9, 100e9, std::nullopt}, 8};
    EXPECT_THAT(to_svg(matrix), HasSubstr(">50.00 GB/s<"));
    matrix.cells[1] = 30e9;
    EXPECT_THAT(to_svg(matrix), HasSubstr(">30.00 GB/s<"));
}

}  // namespace
}  // namespace distgpu::scaling::html
