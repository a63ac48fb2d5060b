// Steps in which something stands out, and the findings that they should have.
#pragma once

#include "report/verdict.h"
#include "tools/report/made_up_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace distgpu {

// Eight ranks: 0 and 1 on n1, 2 and 3 on n2, and so on.
inline StepReport changed(const std::function<void(StepReport&)>& change) {
    StepReport report = made_up_report(4, 2);
    change(report);
    return report;
}

inline void set_all_busy(StepReport& report, std::uint32_t percent) {
    for (NodeReport& node : report.reports) {
        for (GpuReport& gpu : node.gpus) set_busy(gpu, percent);
    }
}

inline void set_node_busy(StepReport& report, std::size_t node, std::uint32_t percent) {
    for (GpuReport& gpu : report.reports[node].gpus) set_busy(gpu, percent);
}

struct FindingCase {
    const char* title;
    std::function<void(StepReport&)> change;
    std::string finding;  // empty: none
};

// That each step has this finding and no other.
inline void expect_findings(const std::vector<FindingCase>& cases) {
    for (const FindingCase& each : cases) {
        std::vector<std::string> expected;
        if (!each.finding.empty()) expected.push_back(each.finding);
        EXPECT_THAT(report_findings(changed(each.change)), testing::ElementsAreArray(expected))
            << each.title;
    }
}

}  // namespace distgpu
