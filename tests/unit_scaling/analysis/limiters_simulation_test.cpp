// How often the right or a wrong limiter is named in simulated clusters with noise. The whole
// table, with 1,000 clusters per row, and 10,000 healthy clusters take minutes and run only on
// request:
//   scaling_analysis_tests --gtest_also_run_disabled_tests --gtest_filter='*WholeTable'
#include "base/format.h"
#include "simulated_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>

namespace distgpu::scaling {
namespace {

using Kind = Limiter::Kind;

struct Tally {
    std::uint32_t exact = 0;
    std::uint32_t missed = 0;
    std::uint32_t wrong = 0;  // a healthy part was named
    std::uint32_t undecided = 0;
};

bool is_paths(const Limiter& limiter) {
    return limiter.kind == Kind::paths;
}

// Ignores whether a fault is intermittent.
std::vector<Limiter> named_limiters(const LimiterAnalysis& result) {
    std::vector<Limiter> limiters;
    for (const auto& finding : result.findings) {
        limiters.push_back(finding.limiter);
        limiters.back().is_intermittent = false;
    }
    return limiters;
}

void add_result(Tally& tally, const SimulatedCase& test_case, std::uint32_t nodes,
                const LimiterAnalysis& result) {
    const auto expected = test_case.expected(nodes);
    auto limiters = named_limiters(result);
    // Naming paths as well is no error where allowed, because no part would be replaced.
    const bool paths_alone = limiters.size() == 1 && is_paths(limiters.front());
    if (test_case.may_name_paths)
        limiters.erase(std::remove_if(limiters.begin(), limiters.end(), is_paths), limiters.end());
    const bool is_wrong = std::ranges::any_of(limiters, [&](const Limiter& limiter) {
        return std::ranges::find(expected, limiter) == expected.end();
    });
    const bool is_undecided = result.findings.empty() && result.doubt.kind != Doubt::Kind::none;
    if (is_wrong) {
        ++tally.wrong;
    } else if (is_undecided) {
        ++tally.undecided;
    } else if (limiters == expected ||
               (test_case.may_name_paths && paths_alone && expected.front().kind == Kind::spine)) {
        ++tally.exact;
    } else {
        ++tally.missed;
    }
}

Tally tally_of(const SimulatedCase& test_case, std::uint32_t nodes, std::uint32_t clusters) {
    Random random(nodes);
    Tally tally;
    for (std::uint32_t index = 0; index < clusters; ++index) {
        add_result(tally, test_case, nodes,
                   find_limiters(test_case.cluster(nodes, random).measure(random)));
    }
    return tally;
}

std::string text(const SimulatedCase& test_case, std::uint32_t nodes, const Tally& tally) {
    const double all = tally.exact + tally.missed + tally.wrong + tally.undecided;
    const auto percent = [&](std::uint32_t count) {
        return formatted("{:.1f}", 100 * count / all);
    };
    return formatted("| {} | {} | {} | {} | {} | {}{} |", test_case.name, nodes,
                     percent(tally.exact), percent(tally.missed), percent(tally.wrong),
                     percent(tally.undecided), test_case.may_be_undecided ? " (right)" : "");
}

TEST(LimiterSimulation, EachCaseOnFewClusters) {
    constexpr std::uint32_t clusters = 20;
    for (const auto& test_case : simulated_cases()) {
        for (const auto nodes : test_case.sizes) {
            if (nodes > 32) continue;
            const auto tally = tally_of(test_case, nodes, clusters);
            EXPECT_LE(tally.wrong, 1U) << text(test_case, nodes, tally);
            const auto accepted = tally.exact + (test_case.may_be_undecided ? tally.undecided : 0);
            if (test_case.must_find && nodes >= 8) {
                EXPECT_GE(accepted, clusters * 9 / 10) << text(test_case, nodes, tally);
            }
        }
    }
}

TEST(LimiterSimulation, DISABLED_WholeTable) {
    std::cout << "| What is wrong | N | exact | missed | wrongly named | undecided |\n"
                 "|---|---|---|---|---|---|\n";
    for (const auto& test_case : simulated_cases()) {
        for (const auto nodes : test_case.sizes) {
            const auto tally = tally_of(test_case, nodes, 1000);
            std::cout << text(test_case, nodes, tally) << std::endl;
            EXPECT_LE(tally.wrong, 10U);
            const auto accepted = tally.exact + (test_case.may_be_undecided ? tally.undecided : 0);
            if (test_case.must_find && nodes >= 8) {
                EXPECT_GE(accepted, 950U);
            }
        }
    }
}

TEST(LimiterSimulation, DISABLED_TenThousandHealthyClusters) {
    for (const auto& test_case : simulated_cases()) {
        if (!test_case.never_named) continue;
        for (const auto nodes : test_case.sizes) {
            const auto tally = tally_of(test_case, nodes, 10'000);
            std::cout << text(test_case, nodes, tally) << std::endl;
            EXPECT_EQ(tally.wrong, 0U);
        }
    }
}

}  // namespace
}  // namespace distgpu::scaling
