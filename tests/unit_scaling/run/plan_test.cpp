#include "run/plan.h"

#include "analysis/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace distgpu::scaling {
namespace {

using Kind = Group::Kind;

std::vector<Node> nodes(std::vector<std::uint32_t> ranks) {
    std::vector<Node> made;
    for (const std::uint32_t count : ranks) {
        made.push_back({"node" + std::to_string(made.size() + 1), count, {}, {}});
    }
    return made;
}

bool out_of_place_only(Collective /*any*/, bool in_place) {
    return !in_place;
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

using Numbers = std::vector<std::uint32_t>;

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

TEST(Plan, PairsMeetAtTheSameTimeWithTheLargestSizeOnly) {
    const Plan plan = plan_of(nodes({1, 1, 1, 1}));
    std::size_t rounds = 0;
    for (const Stage& stage : plan.stages) {
        if (plan.groups[stage.groups.front()].kind != Kind::pair) continue;
        ++rounds;
        EXPECT_EQ(stage.operations,
                  (std::vector<Subject>{{Collective::all_gather, DataType::i32, false, 4096}}));
        std::multiset<std::uint32_t> playing;
        for (const std::size_t group : stage.groups) {
            for (const std::uint32_t node : plan.groups[group].nodes) playing.insert(node);
        }
        EXPECT_EQ(playing, (std::multiset<std::uint32_t>{0, 1, 2, 3}));
    }
    EXPECT_EQ(rounds, matches_per_node);
    // A pair that meets again is the same group: 4 * 3 / 2.
    EXPECT_EQ(numbers_of(plan, Kind::pair).size(), 6U);
}

// Out of place, where both are offered.
TEST(Plan, TheFirstThatWasAskedForTellsNodesApart) {
    const Wishes wishes{
        {Collective::all_gather, Collective::reduce}, {DataType::i32, DataType::f16}, {8, 4096}};
    const Offers both = [](Collective /*any*/, bool /*in_place*/) { return true; };
    for (const Offers& offers : {Offers(out_of_place_only), both}) {
        const Plan plan = make_plan(nodes({1, 1, 1, 1}), wishes, offers);
        for (const Stage& stage : plan.stages) {
            if (plan.groups[stage.groups.front()].kind != Kind::pair) continue;
            EXPECT_EQ(stage.operations,
                      (std::vector<Subject>{{Collective::all_gather, DataType::i32, false, 4096}}));
        }
    }
}

TEST(Plan, TwoNodesHaveNoTournament) {
    EXPECT_TRUE(numbers_of(plan_of(nodes({2, 2})), Kind::pair).empty());
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

TEST(Plan, RailsAreMeasuredAsOftenAsANodePlays) {
    const Plan plan = plan_of(nodes({2, 2}));
    const auto rails = std::count_if(plan.stages.begin(), plan.stages.end(), [&](const Stage& s) {
        return plan.groups[s.groups.front()].kind == Kind::rail;
    });
    EXPECT_EQ(static_cast<std::size_t>(rails), matches_per_node);
}

// Nor is there a stage without a group.
TEST(Plan, ARailOfOneRankIsNone) {
    EXPECT_EQ(numbers_of(plan_of(nodes({3, 1})), Kind::rail), Numbers{0});
    const Plan one_node = plan_of(nodes({2}));
    EXPECT_EQ(numbers_of(one_node, Kind::rail), Numbers{});
    EXPECT_EQ(one_node.stages.size(), 1U);
}

TEST(Member, IsDecidedByNodeAndLocalRank) {
    EXPECT_TRUE(is_member({Kind::gpus, {0}, 2, 2}, 0, 1));
    EXPECT_FALSE(is_member({Kind::gpus, {0}, 2, 2}, 0, 2));
    EXPECT_FALSE(is_member({Kind::gpus, {0}, 2, 2}, 1, 0));
    EXPECT_TRUE(is_member({Kind::rail, {0, 1}, 2, 3}, 1, 3));
    EXPECT_FALSE(is_member({Kind::rail, {0, 1}, 2, 3}, 1, 2));
    EXPECT_TRUE(is_member({Kind::pair, {1, 2}, 4, 0}, 2, 1));
    EXPECT_FALSE(is_member({Kind::pair, {1, 2}, 4, 0}, 0, 1));
}

}  // namespace
}  // namespace distgpu::scaling
