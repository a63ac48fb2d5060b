// Which nodes are told to differ, and from what.
#include "check/compare_nodes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace distgpu {
namespace {

// One rank a node, with this value of a trait; empty: the node has not told it.
std::vector<Report> reports_of(const std::vector<std::string>& values) {
    std::vector<Report> reports;
    for (std::uint32_t i = 0; i < values.size(); ++i) {
        Report& report = reports.emplace_back();
        report.rank = i;
        report.node = i;
        if (!values[i].empty()) report.traits = {{"GPUs", values[i]}};
    }
    return reports;
}

StepLayout nodes(std::uint32_t count) {
    const std::vector<TasksRun> runs{{1, count}};
    return *StepLayout::distribute(*HostList::parse("n[1-" + std::to_string(count) + "]"), runs,
                                   {});
}

// What each node is told, by its first letters: "2: message".
std::string told(const std::vector<std::string>& values) {
    std::vector<Report> reports = reports_of(values);
    compare_nodes(reports, nodes(static_cast<std::uint32_t>(values.size())));
    std::string text;
    for (const Report& report : reports) {
        for (const Finding& finding : report.findings) {
            EXPECT_TRUE(is_fatal(finding));
            text += std::to_string(report.node + 1) + ": " + finding.error.message() + "\n";
        }
    }
    return text;
}

TEST(CompareNodes, AlikeNothingIsTold) {
    EXPECT_EQ(told({"4 x A", "4 x A", "4 x A"}), "");
    EXPECT_EQ(told({"4 x A"}), "");
    EXPECT_EQ(told({"", "", ""}), "");
    EXPECT_EQ(told({"4 x A", "", "4 x A"}), "");
}

TEST(CompareNodes, TheOddNodesAreTold) {
    EXPECT_EQ(told({"4 x A", "3 x A", "4 x A", "4 x A"}),
              "2: distgpu: GPUs: 3 x A, but 3 other nodes have 4 x A; make them alike, or leave "
              "out what differs with --exclude=n2\n");
    EXPECT_EQ(told({"B", "A", "A", "B", "A"}),
              "1: distgpu: GPUs: B, but 3 other nodes have A; make them alike, or leave out what "
              "differs with --exclude=n[1,4]\n"
              "4: distgpu: GPUs: B, but 3 other nodes have A; make them alike, or leave out what "
              "differs with --exclude=n[1,4]\n");
}

TEST(CompareNodes, OfTwoTheSecondDiffersFromTheFirst) {
    EXPECT_EQ(told({"B", "A"}),
              "2: distgpu: GPUs: A, but n1 has B; make them alike, or leave out what differs with "
              "--exclude=n2\n");
}

TEST(CompareNodes, WhatDiffersForDaysIsAWarning) {
    std::vector<Report> reports = reports_of({"A", "A", "B"});
    for (Report& report : reports) report.traits[0].weight = Finding::Weight::warning;
    compare_nodes(reports, nodes(3));
    ASSERT_EQ(reports[2].findings.size(), 1U);
    EXPECT_FALSE(is_fatal(reports[2].findings[0]));
}

TEST(CompareNodes, AllRanksOfTheNodeHaveIt) {
    std::vector<Report> reports = reports_of({"A", "A", "B"});
    Report second = reports[2];
    second.rank = 3;
    second.traits.clear();
    reports.push_back(second);
    compare_nodes(reports, nodes(3));
    EXPECT_EQ(reports[2].findings.size(), 1U);
    EXPECT_EQ(reports[3].findings, reports[2].findings);
}

}  // namespace
}  // namespace distgpu
