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

bool out_of_place_only(const Operation& operation) {
    return !operation.in_place;
}

const Selection two_sizes{
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

// Also a node with another number of GPUs; but not one rank, which has no partner.
TEST(Plan, AllNodesAreMeasuredAloneAtTheSameTime) {
    const Plan plan = plan_of(nodes({2, 1, 2, 4}));
    const Stage& stage = stage_of(plan, Kind::node);
    EXPECT_EQ(stage.operations.size(), 4U);  // all selected ones
    EXPECT_TRUE(stage.checked);
    std::vector<Numbers> alone;
    for (const std::size_t group : stage.groups) alone.push_back(plan.groups[group].nodes);
    EXPECT_EQ(alone, (std::vector<Numbers>{{0}, {2}, {3}}));
    ASSERT_TRUE(stage.median_group);
    EXPECT_EQ(plan.groups[*stage.median_group], (Group{Kind::nodes, {0}, 2, 1}));
}

// Groups of nodes, and of the first node's GPUs, double up to all. A rail needs two nodes. A group
// of one rank moves no data and is left out, except in a run of one rank.
TEST(Plan, GroupsFollowTheShape) {
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

TEST(Plan, NoMedianIfTheFirstNodeHasOneRankOrIsTheOnlyNode) {
    EXPECT_FALSE(stage_of(plan_of(nodes({1, 2, 2})), Kind::node).median_group);
    const Plan plan = plan_of(nodes({2}));
    EXPECT_EQ(plan.groups, (std::vector<Group>{{Kind::nodes, {0}, 2, 1}}));
    EXPECT_EQ(plan.stages.size(), 1U);  // none without a group
}

TEST(Plan, ScalingGroupsMeasureAllSupportedOperations) {
    EXPECT_EQ(plan_of(nodes({2, 2})).stages.front().operations,
              operations_of(two_sizes, out_of_place_only));
}

TEST(Plan, PairsOfARoundUseTheLargestSizeAtTheSameTime) {
    const auto four = nodes({2, 1, 2, 3});
    Plan plan = plan_of(four);
    const auto before = plan.groups.size();
    const Stage stage = pairs_stage(plan, four, {{0, 3}, {1, 2}});
    EXPECT_EQ(stage.operations,
              (std::vector<Operation>{{Collective::all_gather, DataType::bf16, false, 4096}}));
    EXPECT_EQ(stage.groups, (std::vector{before, before + 1}));
    EXPECT_EQ(plan.groups[before], (Group{Kind::pair, {0, 3}, 5, 0}));
    EXPECT_EQ(plan.groups[before + 1], (Group{Kind::pair, {1, 2}, 3, 0}));
    // A pair that meets again reuses its group.
    EXPECT_EQ(pairs_stage(plan, four, {{0, 3}}).groups, std::vector{before});
    EXPECT_EQ(plan.groups.size(), before + 2);
}

TEST(Plan, RailsOfPairsAreThoseThatBothHave) {
    const auto four = nodes({2, 1, 2, 3});
    Plan plan = plan_of(four);
    const Stage stage = pair_rails_stage(plan, four, {{0, 3}, {1, 2}});
    ASSERT_EQ(stage.groups.size(), 2U);  // with one GPU, the pair itself is the rail
    EXPECT_EQ(plan.groups[stage.groups[0]], (Group{Kind::pair_rail, {0, 3}, 2, 0}));
    EXPECT_EQ(plan.groups[stage.groups[1]], (Group{Kind::pair_rail, {0, 3}, 2, 1}));
    EXPECT_FALSE(stage.checked);
    EXPECT_EQ(pair_rails_stage(plan, four, {{0, 3}}).groups, stage.groups);
}

TEST(Plan, AQuickRunHasNodesAloneAllNodesAndRails) {
    Selection selection = two_sizes;
    selection.quick = true;
    const Plan plan =
        make_plan(nodes({4, 4, 4, 4, 4}), selection, [](const Operation&) { return true; });
    EXPECT_EQ(plan.stages.front().operations.size(), 4U);  // only one placement
    EXPECT_TRUE(numbers_of(plan, Kind::gpus).empty());
    EXPECT_EQ(numbers_of(plan, Kind::nodes), (Numbers{1, 5}));
    EXPECT_EQ(numbers_of(plan, Kind::node).size(), 5U);
    EXPECT_EQ(numbers_of(plan, Kind::rail).size(), 4U);
}

// Each selected operation once; repetitions are not checked.
TEST(Plan, OnlySelectedOperationsAreChecked) {
    const Plan plan = plan_of(nodes({2, 2, 2}));
    for (const Stage& stage : plan.stages) {
        EXPECT_EQ(stage.checked, stage.operations.size() > 1);
    }
}

// A temporary disturbance is gone then.
TEST(Plan, NodesAloneAreMeasuredAgainWithTheLargestSize) {
    const Plan plan = plan_of(nodes({2, 2}));
    std::uint32_t repeats = 0;
    for (const Stage& stage : plan.stages) {
        if (plan.groups[stage.groups.front()].kind != Kind::node || stage.checked) continue;
        EXPECT_EQ(stage.operations,
                  (std::vector<Operation>{{Collective::all_gather, DataType::bf16, false, 4096}}));
        EXPECT_FALSE(stage.median_group);  // the first stage has it
        repeats += stage.repeats;
    }
    EXPECT_EQ(repeats, 2U);
}

// Out of place, if both placements are supported.
TEST(Plan, TheFirstSelectedOperationComparesNodes) {
    const Selection selection{{Collective::all_gather, Collective::reduce_scatter},
                              {DataType::bf16, DataType::f16},
                              {8, 4096}};
    const IsSupported both = [](const Operation& /*any*/) { return true; };
    for (const IsSupported& is_supported : {IsSupported(out_of_place_only), both}) {
        const Plan plan = make_plan(nodes({1, 1, 1, 1}), selection, is_supported);
        EXPECT_EQ(plan.comparison,
                  (Operation{Collective::all_gather, DataType::bf16, false, 4096}));
    }
}

TEST(Plan, RailsAreMeasuredTogetherAsOftenAsANodePlays) {
    const Plan plan = plan_of(nodes({2, 1, 2}));
    const Stage& stage = plan.stages.back();
    ASSERT_EQ(stage.groups.size(), 2U);
    EXPECT_EQ(plan.groups[stage.groups[1]], (Group{Kind::rail, {0, 2}, 2, 1}));
    EXPECT_EQ(stage.repeats, matches_per_node);
    EXPECT_EQ(&stage_of(plan, Kind::rail), &stage);
}

TEST(IsMember, DependsOnTheLocalRank) {
    EXPECT_TRUE(is_member({Kind::gpus, {0}, 2, 2}, 1));
    EXPECT_FALSE(is_member({Kind::gpus, {0}, 2, 2}, 2));
    for (const Kind kind : {Kind::rail, Kind::pair_rail}) {
        EXPECT_TRUE(is_member({kind, {0, 1}, 2, 3}, 3));
        EXPECT_FALSE(is_member({kind, {0, 1}, 2, 3}, 2));
    }
    EXPECT_TRUE(is_member({Kind::pair, {1, 2}, 4, 0}, 1));
}

TEST(OperationsOf, AreOrderedAndOnlySupportedOnes) {
    const Selection selection{
        {Collective::all_reduce, Collective::broadcast}, {DataType::f32}, {8, 16}};
    const auto is_supported = [](const Operation& operation) {
        return operation.collective == Collective::all_reduce || operation.in_place;
    };
    const auto operations = operations_of(selection, is_supported);
    EXPECT_EQ(operations,
              (std::vector<Operation>{{Collective::all_reduce, DataType::f32, false, 8},
                                      {Collective::all_reduce, DataType::f32, false, 16},
                                      {Collective::all_reduce, DataType::f32, true, 8},
                                      {Collective::all_reduce, DataType::f32, true, 16},
                                      {Collective::broadcast, DataType::f32, true, 8},
                                      {Collective::broadcast, DataType::f32, true, 16}}));
    EXPECT_EQ(choose_comparison_operation(operations), operations[1]);
}

// This leaves 20 s for the last round and the end.
TEST(MakeSchedule, OnlyAQuickRunHasDeadlines) {
    const Schedule quick = make_schedule(10, true);
    EXPECT_TRUE(quick.is_time_limited());
    EXPECT_EQ(quick.tournament_deadline, 120);
    EXPECT_EQ(quick.retest_deadline, 160);
    const Schedule plain = make_schedule(20, false);
    EXPECT_FALSE(plain.is_time_limited());
    EXPECT_GT(plain.tournament_deadline, 1e6);
}

using Counts = std::vector<std::uint32_t>;

// 20 runs of the slowest take 40 s: 20 of 2 s, 40 of 1 s, 27 of 1.5 s rounded up.
TEST(BalanceIterations, AllRunAsLongAsTheSlowest) {
    EXPECT_EQ(balance_iterations({1, 2, 1.5}, {20}), (Counts{40, 20, 27}));
    // At most ten times as often.
    EXPECT_EQ(balance_iterations({0.001, 1}, {20}), (Counts{200, 20}));
    // A group that runs nothing.
    EXPECT_EQ(balance_iterations({0, 1, 0}, {5}), (Counts{5, 5, 5}));
    EXPECT_EQ(balance_iterations({0, 0}, {5}), (Counts{5, 5}));
}

// 10 runs of 0.25 s take more than a second, so 4. A median needs three runs of 1.5 s, but of 40 s
// there is only one.
TEST(BalanceIterations, ALoopThatWouldTakeTooLongIsShortened) {
    EXPECT_EQ(balance_iterations({0.25, 0.125}, {10, 1}), (Counts{4, 8}));
    EXPECT_EQ(balance_iterations({1.5}, {10, 1}), Counts{3});
    EXPECT_EQ(balance_iterations({1.5}, {2, 1}), Counts{2});
    EXPECT_EQ(balance_iterations({40}, {10, 1}), Counts{1});
    EXPECT_EQ(balance_iterations({0.001}, {10, 1}), Counts{10});
}

// The size that a quick run chooses. `rate`: of each rank in an all-reduce of all nodes, in bytes
// per second.
std::uint64_t size_at(double rate, std::uint64_t largest = 512U << 20U) {
    std::uint64_t size = first_probe_size(largest, 8);
    double spent = 0;
    for (std::uint64_t next = size; next > 0;) {
        size = next;
        const double seconds = 20e-6 + 2.0 * static_cast<double>(size) / rate;
        spent += 2 * seconds;  // each step has two runs
        next = next_probe_size(size, seconds, largest);
    }
    EXPECT_LT(spent, 2);
    return size;
}

// 480 GB/s and 1/500 of it, 10 Gbit/s, 200 Mbit/s, and 2 Mbit/s.
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
    EXPECT_EQ(first_probe_size(512U << 20U, 8), 4096U);
    EXPECT_EQ(first_probe_size(512U << 20U, 8192), 524288U);
    EXPECT_EQ(first_probe_size(1024, 8), 1024U);
    EXPECT_EQ(next_probe_size(4096, 0.001, 8192), 8192U);
    EXPECT_EQ(next_probe_size(8192, 0.001, 8192), 0U);
    EXPECT_EQ(next_probe_size(4096, 0.2, 8192), 0U);
}

}  // namespace
}  // namespace distgpu::scaling
