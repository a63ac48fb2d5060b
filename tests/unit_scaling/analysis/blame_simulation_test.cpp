// How often the right one is named, and a wrong one, on made-up clusters with noise. The whole
// table, 1,000 clusters a row, and 10,000 healthy clusters take minutes and run by name:
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
    std::uint32_t falsely = 0;  // a part was named that is well
    std::uint32_t undecided = 0;
};

bool is_paths(const Limiter& limiter) {
    return limiter.kind == Kind::paths;
}

// Whether a fault comes and goes is not judged.
std::vector<Limiter> named(const Blame& result) {
    std::vector<Limiter> limiters;
    for (const auto& finding : result.findings) {
        limiters.push_back(finding.limiter);
        limiters.back().intermittent = false;
    }
    return limiters;
}

void add(Tally& tally, const SimulatedRow& row, std::uint32_t nodes, const Blame& result) {
    const auto right = row.right(nodes);
    auto limiters = named(result);
    // Paths are no part that would be replaced; that they collide is right, or said beside it.
    const bool paths_alone = limiters.size() == 1 && is_paths(limiters.front());
    if (row.paths)
        limiters.erase(std::remove_if(limiters.begin(), limiters.end(), is_paths), limiters.end());
    const bool wrong = std::ranges::any_of(limiters, [&](const Limiter& limiter) {
        return std::ranges::find(right, limiter) == right.end();
    });
    const bool undecided = result.findings.empty() && result.doubt.kind != Doubt::Kind::none;
    if (wrong) {
        ++tally.falsely;
    } else if (undecided) {
        ++tally.undecided;
    } else if (limiters == right ||
               (row.paths && paths_alone && right.front().kind == Kind::spine)) {
        ++tally.exact;
    } else {
        ++tally.missed;
    }
}

Tally tally_of(const SimulatedRow& row, std::uint32_t nodes, std::uint32_t clusters) {
    Random random(nodes);
    Tally tally;
    for (std::uint32_t index = 0; index < clusters; ++index) {
        add(tally, row, nodes, blame(row.cluster(nodes, random).measure(random)));
    }
    return tally;
}

std::string text(const SimulatedRow& row, std::uint32_t nodes, const Tally& tally) {
    const double all = tally.exact + tally.missed + tally.falsely + tally.undecided;
    const auto percent = [&](std::uint32_t count) {
        return formatted("{:.1f}", 100 * count / all);
    };
    return formatted("| {} | {} | {} | {} | {} | {}{} |", row.about, nodes, percent(tally.exact),
                     percent(tally.missed), percent(tally.falsely), percent(tally.undecided),
                     row.undecidable ? " (right)" : "");
}

TEST(BlameSimulation, EachRowOnFewClusters) {
    constexpr std::uint32_t clusters = 20;
    for (const auto& row : simulated_rows()) {
        for (const auto nodes : row.sizes) {
            if (nodes > 32) continue;
            const auto tally = tally_of(row, nodes, clusters);
            EXPECT_LE(tally.falsely, 1U) << text(row, nodes, tally);
            const auto right = tally.exact + (row.undecidable ? tally.undecided : 0);
            if (row.must_be_found && nodes >= 8) {
                EXPECT_GE(right, clusters * 9 / 10) << text(row, nodes, tally);
            }
        }
    }
}

TEST(BlameSimulation, DISABLED_WholeTable) {
    std::cout << "| What is wrong | N | exact | missed | falsely named | undecided |\n"
                 "|---|---|---|---|---|---|\n";
    for (const auto& row : simulated_rows()) {
        for (const auto nodes : row.sizes) {
            const auto tally = tally_of(row, nodes, 1000);
            std::cout << text(row, nodes, tally) << std::endl;
            EXPECT_LE(tally.falsely, 10U);
            const auto right = tally.exact + (row.undecidable ? tally.undecided : 0);
            if (row.must_be_found && nodes >= 8) {
                EXPECT_GE(right, 950U);
            }
        }
    }
}

TEST(BlameSimulation, DISABLED_TenThousandHealthyClusters) {
    for (const auto& row : simulated_rows()) {
        if (!row.never_named) continue;
        for (const auto nodes : row.sizes) {
            const auto tally = tally_of(row, nodes, 10'000);
            std::cout << text(row, nodes, tally) << std::endl;
            EXPECT_EQ(tally.falsely, 0U);
        }
    }
}

}  // namespace
}  // namespace distgpu::scaling
