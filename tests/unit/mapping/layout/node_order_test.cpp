// Ranks in another order of the nodes than Slurm's. Expected ranks are worked out by hand.
#include "mapping/layout/node_order.h"

#include "layout_testing.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace distgpu::layout_testing {
namespace {

using Order = std::vector<NodeIndex>;

Order order(const Nodes& nodes) {
    Order result;
    for (const std::uint32_t node : nodes) result.push_back(NodeIndex{node});
    return result;
}

StepLayout dealt(const char* tasks, Distribution::Kind kind, std::uint32_t plane = 0) {
    const auto runs = counts(tasks);
    std::size_t nodes = 0;
    for (const TasksRun& run : runs) nodes += run.nodes;
    return *StepLayout::distribute(hosts(nodes), runs, {kind, plane});
}

// The node of each rank.
Nodes by_rank(const StepLayout& layout) {
    Nodes nodes;
    for (std::uint32_t rank = 0; rank < layout.task_count(); ++rank) {
        nodes.push_back(layout.place(GlobalRank{rank}).node.value);
    }
    return nodes;
}

TEST(WithOrder, DealsTheRanksAndLeavesTheTasks) {
    using Kind = Distribution::Kind;
    struct Row {
        const char* title;
        StepLayout layout;
        Nodes order;
        Nodes ranks;
    };
    const std::vector<Row> rows = {
        {"block", dealt("2(x3)", Kind::block), {2, 0, 1}, {2, 2, 0, 0, 1, 1}},
        {"block, another number each", dealt("3,1,2", Kind::block), {2, 0, 1}, {2, 2, 0, 0, 0, 1}},
        {"cyclic", dealt("2(x3)", Kind::cyclic), {2, 0, 1}, {2, 0, 1, 2, 0, 1}},
        {"cyclic, as many in each place", dealt("1,2,1", Kind::cyclic), {2, 1, 0}, {2, 1, 0, 1}},
        {"plane", dealt("4(x2)", Kind::plane, 2), {1, 0}, {1, 1, 0, 0, 1, 1, 0, 0}},
        {"the order that Slurm has", dealt("2(x2)", Kind::block), {0, 1}, {0, 0, 1, 1}},
        {"one node", dealt("3", Kind::block), {0}, {0, 0, 0}},
        // As Slurm 26.05 deals in the order of switches: task 0 is on node 1.
        {"block from another node on",
         *StepLayout::from_assignment(hosts(3), Nodes{1, 1, 2, 0, 0}),
         {0, 2, 1},
         {0, 0, 2, 1, 1}},
        {"arbitrary, as many on each",
         *StepLayout::from_assignment(hosts(2), Nodes{1, 0, 0, 1}),
         {0, 1},
         {0, 1, 1, 0}},
    };
    for (const Row& row : rows) {
        const auto ordered = row.layout.with_order(order(row.order));
        ASSERT_TRUE(ordered) << row.title;
        EXPECT_EQ(by_rank(*ordered), row.ranks) << row.title;
        EXPECT_EQ(placed(*ordered), placed(row.layout)) << row.title;
        const auto told = ordered->order();
        EXPECT_EQ(Order(told.begin(), told.end()), order(row.order)) << row.title;
    }
}

TEST(WithOrder, RefusesTurnsOnNodesThatDiffer) {
    const StepLayout layout = dealt("3,1,2", Distribution::Kind::cyclic);
    const auto refused = layout.with_order(order({1, 0, 2}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(),
              "distgpu: order: the tasks are dealt to the nodes in turns, and those have 1 to 3; "
              "use srun -m block, or the same --ntasks-per-node on all nodes");
}

// Two nodes in turns, which the order makes two blocks of the map for each round.
TEST(WithOrder, RefusesAMapWithoutEnd) {
    const auto layout = StepLayout::from_task_map(hosts(2), {{0, 2, 1, 1U << 20U}});
    ASSERT_TRUE(layout->with_order(order({0, 1})));
    const auto refused = layout->with_order(order({1, 0}));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message(),
              "distgpu: order: tasks that are dealt in turns would take 131072 blocks or more; use "
              "srun -m block");
}

TEST(WithOrder, WithoutOneTheRanksAreTheTaskIds) {
    const StepLayout layout = dealt("3,1,2", Distribution::Kind::cyclic);
    EXPECT_TRUE(layout.order().empty());
    EXPECT_EQ(by_rank(layout), placed(layout));
    EXPECT_EQ(layout.node_rank(NodeIndex{2}), NodeRank{2});
}

TEST(WithOrder, IsPartOfWhatALayoutIs) {
    const StepLayout layout = dealt("1(x2)", Distribution::Kind::block);
    EXPECT_NE(*layout.with_order(order({1, 0})), layout);
    EXPECT_NE(*layout.with_order(order({1, 0})), *layout.with_order(order({0, 1})));
    EXPECT_EQ(*layout.with_order(order({1, 0})), *layout.with_order(order({1, 0})));
}

// What every order promises, whatever the shape.
void expect_a_numbering(const StepLayout& layout, const Order& nodes) {
    std::vector<bool> taken(layout.task_count());
    for (std::uint32_t n = 0; n < layout.node_count(); ++n) {
        const NodeIndex node{n};
        std::optional<GlobalRank> before;
        for (std::uint32_t local = 0; local < layout.tasks_on(node); ++local) {
            const GlobalRank rank = layout.rank(node, LocalRank{local});
            ASSERT_FALSE(taken.at(rank.value)) << "twice";
            taken[rank.value] = true;
            EXPECT_EQ(layout.place(rank), (Placement{node, LocalRank{local}}));
            EXPECT_TRUE(!before || *before < rank) << "in the order of local ranks";
            before = rank;
        }
        EXPECT_EQ(nodes[layout.node_rank(node).value], node);
    }
    // Nodes in the order of their lowest ranks.
    for (std::size_t i = 1; i < nodes.size(); ++i) {
        EXPECT_LT(layout.rank(nodes[i - 1], LocalRank{0}), layout.rank(nodes[i], LocalRank{0}));
    }
}

TEST(WithOrder, NumbersEachTaskOnceInRandomShapes) {
    Random random;
    std::uint32_t ordered = 0;
    for (int round = 0; round < 400; ++round) {
        const std::uint32_t nodes = 1 + random.below(9);
        Nodes node_of_task(nodes);
        std::iota(node_of_task.begin(), node_of_task.end(), 0U);
        const std::uint32_t more = random.below(20);
        for (std::uint32_t i = 0; i < more; ++i) node_of_task.push_back(random.below(nodes));
        if (random.below(2) == 0) std::sort(node_of_task.begin(), node_of_task.end());
        const auto layout = StepLayout::from_assignment(hosts(nodes), node_of_task);
        Nodes wanted(nodes);
        std::iota(wanted.begin(), wanted.end(), 0U);
        std::shuffle(wanted.begin(), wanted.end(), random.engine());
        const auto result = layout->with_order(order(wanted));
        if (!result) continue;
        ++ordered;
        expect_a_numbering(*result, order(wanted));
    }
    EXPECT_GT(ordered, 200U);
}

TEST(OrderOf, ReadsTheNodesInTheListsOrder) {
    EXPECT_EQ(*order_of("order=./f", hosts("n[1-4]"), hosts("n[3-4],n1,n2")), order({2, 3, 0, 1}));
}

TEST(OrderOf, RefusesAListThatIsNotTheSteps) {
    const std::string remedy = "; name each node of the step once: n[1-3]";
    const std::vector<std::pair<const char*, std::string>> rows = {
        {"n[1-2]", "does not name n3"},
        {"n[1-3],n1", "names n1 twice"},
        {"n[1-2],n4", "names n4, which is not a node of the step"},
        {"n[1-2],n03", "names n03, which is not a node of the step"},
    };
    for (const auto& [list, problem] : rows) {
        const auto refused = order_of("order=./f", hosts("n[1-3]"), hosts(list));
        ASSERT_FALSE(refused) << list;
        EXPECT_EQ(refused.error().message(), "distgpu: order=./f: " + problem + remedy);
    }
}

}  // namespace
}  // namespace distgpu::layout_testing
