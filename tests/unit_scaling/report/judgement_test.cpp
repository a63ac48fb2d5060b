#include "report/judgement.h"

#include "made_up_results.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using Kind = JudgedDemand::Kind;
using Outcome = Judgement::Outcome;

constexpr std::uint64_t mib = 1U << 20U;

const Comparison passed_one{{}, {}, 1};
const Comparison failed_one{{Violation{}}, {}, 1};
const Comparison waived_one{{}, {Threshold{}}, 0};

Outcome outcome(const std::vector<Comparison>& comparisons) {
    Judgement judgement;
    for (const Comparison& comparison : comparisons) {
        judgement.demands.push_back({Kind::thresholds, "", 0, comparison, {}});
    }
    return outcome_of(judgement);
}

TEST(Outcome, OneFailureIsAFailure) {
    EXPECT_EQ(outcome({passed_one, failed_one}), Outcome::failed);
    EXPECT_EQ(outcome({failed_one, waived_one}), Outcome::failed);
}

// What was not measured is not passed, but one that was is enough to say something.
TEST(Outcome, SkippedIsWhereNothingWasMeasured) {
    EXPECT_EQ(outcome({}), Outcome::passed);
    EXPECT_EQ(outcome({waived_one}), Outcome::skipped);
    EXPECT_EQ(outcome({waived_one, waived_one}), Outcome::skipped);
    EXPECT_EQ(outcome({waived_one, passed_one}), Outcome::passed);
}

TEST(JudgementText, NamesWhatFailedAndWhatIsMissing) {
    Results results = made_up_results(2, 2);
    add_measurement(results, add_nodes(results, 2), {.in_place = true, .bytes = mib});
    Threshold least;
    least.bandwidth = 2e9;
    Threshold missing{.collective = Collective::broadcast, .bytes = 2 * mib, .ranks = 1};
    missing.type = DataType::i8;
    const Judgement judgement{{{Kind::baseline,
                                "old",
                                0.07,
                                {{{0, 1.5e9, least}}, {}, 4},
                                {{"driver", "575.1", "570.8"}}},
                               {Kind::thresholds, "limits", 0, {{}, {missing}, 0}, {}}}};
    EXPECT_EQ(judgement_text(results, judgement),
              "# old: driver is '570.8' there, '575.1' here\n"
              "# FAILED: all-reduce float, 1 MiB, in place, 2 nodes: 1.5 GB/s, 75.0 % of the 2 "
              "that it must reach\n"
              "# baseline old, tolerance 7.0 %: 4 passed, 1 failed, 0 not measured\n"
              "# not measured: broadcast int8, 2 MiB, 1 rank\n"
              "# thresholds limits: 0 passed, 0 failed, 1 not measured\n");
}

TEST(DifferenceText, SaysWhatEachHas) {
    EXPECT_EQ(difference_text({"NCCL", "2.30.7", "2.29.2"}),
              "NCCL is '2.29.2' there, '2.30.7' here");
    EXPECT_EQ(difference_text({"driver", "575.1", std::nullopt}),
              "driver is missing there, '575.1' here");
    EXPECT_EQ(difference_text({"driver", std::nullopt, "575.1"}),
              "driver is '575.1' there, missing here");
}

}  // namespace
}  // namespace distgpu::scaling
