#include "run/plan.h"

#include "analysis/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace distgpu::scaling {
namespace {

using Kind = Group::Kind;

using Numbers = std::vector<std::uint32_t>;

std::vector<Node> nodes(std::vector<std::uint32_t> ranks) {
    std::vector<Node> made;
    for (const std::uint32_t count : ranks) {
        made.push_back({"node" + std::to_string(made.size() + 1), count, {}, {}});
    }
    return made;
}

bool out_of_place_only(const Subject& subject) {
    return !subject.in_place;
}

const Wishes two_sizes{
    {Collective::all_gather, Collective::reduce_scatter}, {DataType::bf16}, {8, 4096}};

Plan plan_of(const std::vector<Node>& of) {
    return make_plan(of, two_sizes, out_of_place_only);
}

std::vector<std::uint32_t> numbers_of(const Plan& plan, Kind kind) {
    std::vector<std::uint32_t> numbers;
    for (const Group& group : plan.groups) {
        if (group.kind == kind) numbers.push_back(group.number);
    }
    return numbers;
}

const Stage& stage_of(const Plan& plan, Kind kind) {
    return *std::ranges::find_if(plan.stages, [&](const Stage& stage) {
        return plan.groups[stage.groups.front()].kind == kind;
    });
}

// Also those whose GPUs are as many as no other's; one rank has nobody to talk to.
TEST(Plan, EveryNodeIsAloneAtTheSameTime) {
    const Plan plan = plan_of(nodes({2, 1, 2, 4}));
    const Stage& stage = stage_of(plan, Kind::node);
    EXPECT_EQ(stage.operations.size(), 4U);  // all that was asked for
    EXPECT_TRUE(stage.checked);
    std::vector<Numbers> alone;
    for (const std::size_t group : stage.groups) alone.push_back(plan.groups[group].nodes);
    EXPECT_EQ(alone, (std::vector<Numbers>{{0}, {2}, {3}}));
    ASSERT_TRUE(stage.median);
    EXPECT_EQ(plan.groups[*stage.median], (Group{Kind::nodes, {0}, 2, 1}));
}

// Nodes and the GPUs of the first double up to all; a rail is what two nodes have. One rank moves
// no data, and its group is left out but for a run of one.
TEST(Plan, GroupsAreThoseOfTheShape) {
    struct Row {
        std::vector<std::uint32_t> ranks;
        Numbers gpus;
        Numbers nodes;
        Numbers rails;
    };
    for (const auto& [ranks, gpus, of_nodes, rails] :
         std::vector<Row>{{{2, 2, 2, 2, 2, 2}, {}, {1, 2, 4, 6}, {0, 1}},
                          {{2, 2, 2, 2}, {}, {1, 2, 4}, {0, 1}},
                          {{8, 8}, {2, 4}, {1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}},
                          {{1, 1}, {}, {2}, {}},
                          {{1, 1, 1, 1}, {}, {2, 4}, {}},
                          {{1}, {}, {1}, {}},
                          {{2}, {}, {1}, {}},
                          {{2, 1, 2}, {}, {1, 2, 3}, {0, 1}},
                          {{3, 1}, {2}, {1, 2}, {0}}}) {
        const Plan plan = plan_of(nodes(ranks));
        EXPECT_EQ(numbers_of(plan, Kind::gpus), gpus);
        EXPECT_EQ(numbers_of(plan, Kind::nodes), of_nodes);
        EXPECT_EQ(numbers_of(plan, Kind::rail), rails);
    }
}

TEST(Plan, OneRankAsFirstNodeHasNoMedianAndTheOnlyNodeNeedsNone) {
    EXPECT_FALSE(stage_of(plan_of(nodes({1, 2, 2})), Kind::node).median);
    const Plan plan = plan_of(nodes({2}));
    EXPECT_EQ(plan.groups, (std::vector<Group>{{Kind::nodes, {0}, 2, 1}}));
    EXPECT_EQ(plan.stages.size(), 1U);  // none without a group
}

TEST(Plan, GrowingGroupsMeasureEverythingThatIsOffered) {
    const Plan plan = plan_of(nodes({2, 2}));
    const std::vector<Subject> all{{Collective::all_gather, DataType::bf16, false, 8},
                                   {Collective::all_gather, DataType::bf16, false, 4096},
                                   {Collective::reduce_scatter, DataType::bf16, false, 8},
                                   {Collective::reduce_scatter, DataType::bf16, false, 4096}};
    EXPECT_EQ(plan.stages.front().operations, all);
}

TEST(Plan, PairsOfARoundMeetAtTheSameTimeWithTheLargestSizeOnly) {
    const auto four = nodes({2, 1, 2, 3});
    Plan plan = plan_of(four);
    const auto before = plan.groups.size();
    const Stage stage = pairs_stage(plan, four, {{0, 3}, {1, 2}});
    EXPECT_EQ(stage.operations,
              (std::vector<Subject>{{Collective::all_gather, DataType::bf16, false, 4096}}));
    EXPECT_EQ(stage.groups, (std::vector{before, before + 1}));
    EXPECT_EQ(plan.groups[before], (Group{Kind::pair, {0, 3}, 5, 0}));
    EXPECT_EQ(plan.groups[before + 1], (Group{Kind::pair, {1, 2}, 3, 0}));
    // A pair that meets again is the same group.
    EXPECT_EQ(pairs_stage(plan, four, {{0, 3}}).groups, std::vector{before});
    EXPECT_EQ(plan.groups.size(), before + 2);
}

TEST(Plan, RailsOfPairsAreThoseThatBothHave) {
    const auto four = nodes({2, 1, 2, 3});
    Plan plan = plan_of(four);
    const Stage stage = pair_rails_stage(plan, four, {{0, 3}, {1, 2}});
    ASSERT_EQ(stage.groups.size(), 2U);  // with one GPU the pair itself is the rail
    EXPECT_EQ(plan.groups[stage.groups[0]], (Group{Kind::pair_rail, {0, 3}, 2, 0}));
    EXPECT_EQ(plan.groups[stage.groups[1]], (Group{Kind::pair_rail, {0, 3}, 2, 1}));
    EXPECT_FALSE(stage.checked);
    EXPECT_EQ(pair_rails_stage(plan, four, {{0, 3}}).groups, stage.groups);
}

TEST(Plan, AQuickOneHasNodesAloneAllNodesAndRails) {
    Wishes wishes = two_sizes;
    wishes.quick = true;
    const Plan plan =
        make_plan(nodes({4, 4, 4, 4, 4}), wishes, [](const Subject&) { return true; });
    EXPECT_EQ(plan.stages.front().operations.size(), 4U);  // sizes and collectives, in one place
    EXPECT_TRUE(numbers_of(plan, Kind::gpus).empty());
    EXPECT_EQ(numbers_of(plan, Kind::nodes), (Numbers{1, 5}));
    EXPECT_EQ(numbers_of(plan, Kind::node).size(), 5U);
    EXPECT_EQ(numbers_of(plan, Kind::rail).size(), 4U);
}

// What would be checked again and again is not: all that was asked for is checked, once.
TEST(Plan, OnlyWhatWasAskedForIsChecked) {
    const Plan plan = plan_of(nodes({2, 2, 2}));
    for (const Stage& stage : plan.stages) {
        EXPECT_EQ(stage.checked, stage.operations.size() > 1);
    }
}

// What disturbed a node for a moment is gone then.
TEST(Plan, NodesAloneAreMeasuredAgainWithTheLargestSize) {
    const Plan plan = plan_of(nodes({2, 2}));
    std::uint32_t repeats = 0;
    for (const Stage& stage : plan.stages) {
        if (plan.groups[stage.groups.front()].kind != Kind::node || stage.checked) continue;
        EXPECT_EQ(stage.operations,
                  (std::vector<Subject>{{Collective::all_gather, DataType::bf16, false, 4096}}));
        EXPECT_FALSE(stage.median);  // it has its row
        repeats += stage.repeats;
    }
    EXPECT_EQ(repeats, 2U);
}

// Out of place, where both are offered.
TEST(Plan, TheFirstThatWasAskedForTellsNodesApart) {
    const Wishes wishes{{Collective::all_gather, Collective::reduce_scatter},
                        {DataType::bf16, DataType::f16},
                        {8, 4096}};
    const Offers both = [](const Subject& /*any*/) { return true; };
    for (const Offers& offers : {Offers(out_of_place_only), both}) {
        const Plan plan = make_plan(nodes({1, 1, 1, 1}), wishes, offers);
        EXPECT_EQ(plan.comparison, (Subject{Collective::all_gather, DataType::bf16, false, 4096}));
    }
}

TEST(Plan, RailsAreMeasuredTogetherOnceWithTheSameCommunicatorsAsOftenAsANodePlays) {
    const Plan plan = plan_of(nodes({2, 1, 2}));
    const Stage& stage = plan.stages.back();
    ASSERT_EQ(stage.groups.size(), 2U);
    EXPECT_EQ(plan.groups[stage.groups[1]], (Group{Kind::rail, {0, 2}, 2, 1}));
    EXPECT_EQ(stage.repeats, matches_per_node);
    EXPECT_EQ(&stage_of(plan, Kind::rail), &stage);
}

TEST(Member, IsDecidedByLocalRank) {
    EXPECT_TRUE(is_member({Kind::gpus, {0}, 2, 2}, 1));
    EXPECT_FALSE(is_member({Kind::gpus, {0}, 2, 2}, 2));
    for (const Kind kind : {Kind::rail, Kind::pair_rail}) {
        EXPECT_TRUE(is_member({kind, {0, 1}, 2, 3}, 3));
        EXPECT_FALSE(is_member({kind, {0, 1}, 2, 3}, 2));
    }
    EXPECT_TRUE(is_member({Kind::pair, {1, 2}, 4, 0}, 1));
}

TEST(OperationsOf, StandInTheirOrderAndWithoutWhatIsNotOffered) {
    const Wishes wishes{{Collective::all_reduce, Collective::broadcast}, {DataType::f32}, {8, 16}};
    const auto offers = [](const Subject& subject) {
        return subject.collective == Collective::all_reduce || subject.in_place;
    };
    const auto operations = operations_of(wishes, offers);
    EXPECT_EQ(operations, (std::vector<Subject>{{Collective::all_reduce, DataType::f32, false, 8},
                                                {Collective::all_reduce, DataType::f32, false, 16},
                                                {Collective::all_reduce, DataType::f32, true, 8},
                                                {Collective::all_reduce, DataType::f32, true, 16},
                                                {Collective::broadcast, DataType::f32, true, 8},
                                                {Collective::broadcast, DataType::f32, true, 16}}));
    EXPECT_EQ(comparison_of(operations), operations[1]);
}

// The round under way at the last moment, and the end, have 20 s.
TEST(Pace, AQuickRunEndsWithinThreeMinutesAndAnotherPlaysHoweverLongItTakes) {
    const Pace quick = pace_of(10, true);
    EXPECT_TRUE(quick.by_time());
    EXPECT_EQ(quick.end_of_tournament, 120);
    EXPECT_EQ(quick.end_of_retest, 160);
    const Pace plain = pace_of(20, false);
    EXPECT_FALSE(plain.by_time());
    EXPECT_GT(plain.end_of_tournament, 1e6);
}

using Counts = std::vector<std::uint32_t>;

// 20 runs of the slowest take 40 s: 20 of 2 s, 40 of 1 s, 27 of 1.5 s rounded up.
TEST(IterationsTogether, AllRunAsLongAsTheSlowest) {
    EXPECT_EQ(iterations_together({1, 2, 1.5}, {20}), (Counts{40, 20, 27}));
}

TEST(IterationsTogether, AtMostTenTimesAsOften) {
    EXPECT_EQ(iterations_together({0.001, 1}, {20}), (Counts{200, 20}));
}

TEST(IterationsTogether, AGroupThatRunsNothing) {
    EXPECT_EQ(iterations_together({0, 1, 0}, {5}), (Counts{5, 5, 5}));
    EXPECT_EQ(iterations_together({0, 0}, {5}), (Counts{5, 5}));
}

// 10 runs of 0.25 s are more than a second: 4. Of 1.5 s three are needed
// to have a median; of 40 s one has to do.
TEST(IterationsTogether, ALoopThatWouldTakeTooLongIsCut) {
    EXPECT_EQ(iterations_together({0.25, 0.125}, {10, 1}), (Counts{4, 8}));
    EXPECT_EQ(iterations_together({1.5}, {10, 1}), Counts{3});
    EXPECT_EQ(iterations_together({1.5}, {2, 1}), Counts{2});
    EXPECT_EQ(iterations_together({40}, {10, 1}), Counts{1});
    EXPECT_EQ(iterations_together({0.001}, {10, 1}), Counts{10});
}

// What a quick run measures with: each rank's rate in bytes per second, of all-reduce of all nodes.
std::uint64_t size_at(double rate, std::uint64_t largest = 512U << 20U) {
    std::uint64_t size = first_probe(largest, 8);
    double spent = 0;
    for (std::uint64_t next = size; next > 0;) {
        size = next;
        const double seconds = 20e-6 + 2.0 * static_cast<double>(size) / rate;
        spent += 2 * seconds;  // each step has two runs
        next = next_probe(size, seconds, largest);
    }
    EXPECT_LT(spent, 2);
    return size;
}

// 480 GB/s, and a five-hundredth of it; 10 Gbit/s, and 200 Mbit/s; 2 Mbit/s.
TEST(Probe, ALoopWithTheSlowestPartStaysShort) {
    EXPECT_EQ(size_at(480e9), 512U << 20U);
    EXPECT_EQ(size_at(480e9, 1U << 20U), 1U << 20U);
    for (const double rate : {480e9 / 500, 1.25e9, 25e6, 0.25e6}) {
        const double seconds = 2.0 * static_cast<double>(size_at(rate)) / rate;
        EXPECT_LT(seconds, 0.5) << rate;
        EXPECT_GT(seconds, 0.02) << rate;
    }
}

TEST(Probe, EachRankHasAPart) {
    EXPECT_EQ(first_probe(512U << 20U, 8), 4096U);
    EXPECT_EQ(first_probe(512U << 20U, 8192), 524288U);
    EXPECT_EQ(first_probe(1024, 8), 1024U);
    EXPECT_EQ(next_probe(4096, 0.001, 8192), 8192U);
    EXPECT_EQ(next_probe(8192, 0.001, 8192), 0U);
    EXPECT_EQ(next_probe(4096, 0.2, 8192), 0U);
}

}  // namespace
}  // namespace distgpu::scaling
