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

const Wishes two_sizes{{Collective::all_gather, Collective::reduce}, {DataType::i32}, {8, 4096}};

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
    return *std::find_if(plan.stages.begin(), plan.stages.end(), [&](const Stage& stage) {
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

TEST(Plan, AFirstNodeOfOneRankHasNoMedian) {
    EXPECT_FALSE(stage_of(plan_of(nodes({1, 2, 2})), Kind::node).median);
}

TEST(Plan, TheOnlyNodeNeedsNoMedian) {
    const Plan plan = plan_of(nodes({2}));
    ASSERT_EQ(plan.groups.size(), 1U);
    EXPECT_EQ(plan.groups.front(), (Group{Kind::nodes, {0}, 2, 1}));
}

TEST(Plan, NodesDoubleUpToAll) {
    EXPECT_EQ(numbers_of(plan_of(nodes({2, 2, 2, 2, 2, 2})), Kind::nodes), (Numbers{1, 2, 4, 6}));
    EXPECT_EQ(numbers_of(plan_of(nodes({2, 2, 2, 2})), Kind::nodes), (Numbers{1, 2, 4}));
}

TEST(Plan, GpusDoubleWithinTheFirstNode) {
    EXPECT_EQ(numbers_of(plan_of(nodes({8, 8})), Kind::gpus), (Numbers{2, 4}));
    EXPECT_EQ(numbers_of(plan_of(nodes({1, 1})), Kind::gpus), Numbers{});
}

// One rank moves no data.
TEST(Plan, GroupsOfOneRankAreLeftOutButForARunOfOne) {
    EXPECT_EQ(numbers_of(plan_of(nodes({1, 1, 1, 1})), Kind::nodes), (Numbers{2, 4}));
    EXPECT_EQ(numbers_of(plan_of(nodes({1})), Kind::nodes), Numbers{1});
}

TEST(Plan, GrowingGroupsMeasureEverythingThatIsOffered) {
    const Plan plan = plan_of(nodes({2, 2}));
    const std::vector<Subject> all{{Collective::all_gather, DataType::i32, false, 8},
                                   {Collective::all_gather, DataType::i32, false, 4096},
                                   {Collective::reduce, DataType::i32, false, 8},
                                   {Collective::reduce, DataType::i32, false, 4096}};
    EXPECT_EQ(plan.stages.front().operations, all);
}

TEST(Plan, PairsOfARoundMeetAtTheSameTimeWithTheLargestSizeOnly) {
    const auto four = nodes({2, 1, 2, 3});
    Plan plan = plan_of(four);
    const auto before = plan.groups.size();
    const Stage stage = pairs_stage(plan, four, {{0, 3}, {1, 2}});
    EXPECT_EQ(stage.operations,
              (std::vector<Subject>{{Collective::all_gather, DataType::i32, false, 4096}}));
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
                  (std::vector<Subject>{{Collective::all_gather, DataType::i32, false, 4096}}));
        EXPECT_FALSE(stage.median);  // it has its row
        repeats += stage.repeats;
    }
    EXPECT_EQ(repeats, 2U);
}

// Out of place, where both are offered.
TEST(Plan, TheFirstThatWasAskedForTellsNodesApart) {
    const Wishes wishes{
        {Collective::all_gather, Collective::reduce}, {DataType::i32, DataType::f16}, {8, 4096}};
    const Offers both = [](const Subject& /*any*/) { return true; };
    for (const Offers& offers : {Offers(out_of_place_only), both}) {
        const Plan plan = make_plan(nodes({1, 1, 1, 1}), wishes, offers);
        EXPECT_EQ(plan.comparison, (Subject{Collective::all_gather, DataType::i32, false, 4096}));
    }
}

TEST(Plan, RailsRunTogetherOverTheNodesThatHaveThem) {
    const Plan plan = plan_of(nodes({2, 1, 2}));
    EXPECT_EQ(numbers_of(plan, Kind::rail), (Numbers{0, 1}));
    const auto second = std::find_if(plan.groups.begin(), plan.groups.end(), [](const Group& g) {
        return g.kind == Kind::rail && g.number == 1;
    });
    EXPECT_EQ(second->nodes, (Numbers{0, 2}));
    EXPECT_EQ(plan.stages.back().groups.size(), 2U);
    EXPECT_TRUE(numbers_of(plan_of(nodes({1, 1})), Kind::rail).empty());
}

// With the same communicators.
TEST(Plan, RailsAreMeasuredAsOftenAsANodePlays) {
    const Plan plan = plan_of(nodes({2, 2}));
    EXPECT_EQ(stage_of(plan, Kind::rail).repeats, matches_per_node);
    EXPECT_EQ(std::count_if(plan.stages.begin(), plan.stages.end(),
                            [&](const Stage& stage) {
                                return plan.groups[stage.groups.front()].kind == Kind::rail;
                            }),
              1);
}

// Nor is there a stage without a group.
TEST(Plan, ARailOfOneRankIsNone) {
    EXPECT_EQ(numbers_of(plan_of(nodes({3, 1})), Kind::rail), Numbers{0});
    const Plan one_node = plan_of(nodes({2}));
    EXPECT_EQ(numbers_of(one_node, Kind::rail), Numbers{});
    EXPECT_EQ(one_node.stages.size(), 1U);
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

}  // namespace
}  // namespace distgpu::scaling
