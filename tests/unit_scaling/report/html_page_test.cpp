// The page as a whole: which sections it has, and what stands in them.
#include "base/format.h"
#include "report/formats.h"
#include "sample_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu::scaling {
namespace {

using testing::HasSubstr;
using testing::Not;

// Weak scaling of the sample's first model loses 1 % with each of two doublings, strong 6 %: 0.98
// and 0.88.
TEST(HtmlPage, VerdictStandsOnTop) {
    const std::string page = to_html(sample::results({.nodes = 4, .slow_node = 2}));
    EXPECT_THAT(page,
                HasSubstr("<p class=\"verdict\">Sample, nothing was measured. 4 nodes: 98% of "
                          "linear (weak), 88% (strong); limiter: node003</p>"));
    EXPECT_LT(page.find("class=\"verdict\""), page.find("<section>"));
    EXPECT_LT(page.find("<h2>Results"), page.find("<h2>Fingerprint"));
    EXPECT_LT(page.find("<h2>Fingerprint"), page.find("<h2>Environment"));
}

TEST(HtmlPage, HostMemoryIsStampedAndNotHeldAgainstGpus) {
    const std::string page = to_html(sample::results({.backend = "mpi"}));
    EXPECT_THAT(page, HasSubstr(">host memory; not a GPU measurement<"));
    EXPECT_THAT(page, Not(HasSubstr("Published figures")));
    EXPECT_THAT(to_html(sample::results({})), HasSubstr("Published figures"));
}

TEST(HtmlPage, PartialResultsSayWhy) {
    ReportInput input = sample::results({});
    EXPECT_THAT(to_html(input), Not(HasSubstr("Partial")));
    input.results.failure = Failure{"all-gather", "no answer", {"rank 5 on n2", "rank 6 on n2"}};
    EXPECT_THAT(to_html(input), HasSubstr("Partial results: the run ended early."));
    EXPECT_THAT(to_html(input), HasSubstr("<p>all-gather: no answer</p>"));
    EXPECT_THAT(to_html(input), HasSubstr("<p>Missing: rank 5 on n2, rank 6 on n2</p>"));
    input.results.failure.reset();
    input.verdict.clear();
    EXPECT_THAT(to_html(input), HasSubstr("Partial results: the run has not ended."));
}

TEST(HtmlPage, NothingOfTheUsersIsMarkup) {
    ReportInput input = sample::results({});
    const std::string markup = "<b>\"&";
    input.verdict = input.results.backend = input.results.started = markup;
    input.results.fingerprint = {{markup, markup}};
    input.results.environment = {{markup, markup, markup}};
    input.judgement.demands = {{JudgedDemand::Kind::thresholds, markup, 0, {}}};
    for (Node& node : input.results.nodes) node = {markup, 8, {markup}, {markup}};
    input.results.failure = Failure{markup, markup, {markup}};
    for (EfficiencyCurve& curve : input.efficiency) curve.subject = markup;
    input.slow_parts = {{markup, SlowPart::Kind::pair, 1, 1}};
    const std::string page = to_html(input);
    EXPECT_THAT(page, Not(HasSubstr("<b>")));
    EXPECT_THAT(page, HasSubstr("&lt;b&gt;&quot;&amp;"));
}

TEST(HtmlPage, TheJudgementIsASectionWhereSomethingWasAsked) {
    ReportInput input = sample::results({});
    EXPECT_THAT(to_html(input), Not(HasSubstr("Baseline and thresholds")));
    Threshold least;
    least.bandwidth = 2e9;
    Threshold missing;
    missing.bytes = 1024;
    missing.ranks = 5;
    missing.bandwidth = 4e9;
    input.judgement = {
        {{JudgedDemand::Kind::thresholds, "limits", 0, {{{0, 1.5e9, least}}, {missing}, 7}}}};
    const std::string page = to_html(input);
    EXPECT_THAT(page,
                HasSubstr("<h2>Baseline and thresholds</h2>\n<p><strong>failed</strong></p>"));
    EXPECT_THAT(page, HasSubstr("<p>thresholds limits: 7 passed, 1 failed, 1 not measured</p>"));
    // The sample's first measurement: 8 bytes on two GPUs of the first node.
    EXPECT_THAT(page, HasSubstr("<td class=\"word\">all-reduce float, 8 B, 2 GPUs of node001</td>"
                                "<td class=\"word\">failed</td><td>1.50</td><td>2.00</td>"
                                "<td>75.0 %</td>"));
    EXPECT_THAT(page, HasSubstr("<td class=\"word\">all-reduce, 1 KiB, 5 ranks</td>"
                                "<td class=\"word\">not measured</td><td>n/a</td><td>4.00</td>"
                                "<td>n/a</td>"));
}

TEST(HtmlPage, WhatPassedNeedsNoTable) {
    ReportInput input = sample::results({});
    input.judgement = {{{JudgedDemand::Kind::baseline, "old", 0.05, {{}, {}, 9}}}};
    EXPECT_THAT(to_html(input), HasSubstr("<strong>passed</strong>"));
    EXPECT_THAT(to_html(input), HasSubstr("tolerance 5.0 %: 9 passed, 0 failed"));
    EXPECT_THAT(to_html(input), Not(HasSubstr("What did not pass")));
}

TEST(HtmlPage, AVariableSaysWhatSetIt) {
    ReportInput input;
    input.results.environment = {{"NCCL_ALGO", "Ring", "~/.nccl.conf"}, {"NCCL_DEBUG", "WARN"}};
    EXPECT_THAT(to_html(input), HasSubstr(">Ring</td><td class=\"word\">~/.nccl.conf<"));
    EXPECT_THAT(to_html(input), HasSubstr(">WARN</td><td class=\"word\">environment<"));
}

TEST(HtmlPage, TheColumnsOfTheResultsHaveTheirUnits) {
    std::string head = "Groups of GPUs and of nodes</caption>\n<thead><tr>";
    for (const char* const word : {"group", "collective", "type", "place"}) {
        head += formatted("<th scope=\"col\" class=\"word\">{}</th>", word);
    }
    for (const char* const number : {"size", "busbw (GB/s)", "algbw (GB/s)", "median (us)",
                                     "p5 (us)", "p95 (us)", "p99 (us)", "cv (%)"}) {
        head += formatted("<th scope=\"col\">{}</th>", number);
    }
    EXPECT_THAT(to_html(sample::results({})), HasSubstr(head + "</tr></thead>"));
}

TEST(HtmlPage, LargeClustersSayWhatIsLeftOut) {
    const std::string page = to_html(sample::results({.nodes = 128, .rounds = 7}));
    EXPECT_THAT(page, HasSubstr("128 nodes are too many for a row each: a row stands for up to 2 "
                                "nodes"));
    // 7 rounds of 64 pairs.
    EXPECT_THAT(page, HasSubstr("the slowest first: 200 of 448"));
}

TEST(HtmlPage, OneNodeHasNoEfficiency) {
    EXPECT_THAT(to_html(sample::results({.nodes = 1})), Not(HasSubstr("Efficiency")));
    EXPECT_THAT(to_html(sample::results({.nodes = 2})), HasSubstr("<h2>Efficiency"));
}

TEST(HtmlPage, OfNothingIsStillAPage) {
    const std::string page = to_html(ReportInput{});
    EXPECT_THAT(page, HasSubstr("Partial results: the run has not ended."));
    EXPECT_THAT(page, Not(HasSubstr("<section>")));
}

}  // namespace
}  // namespace distgpu::scaling
