#include "run/orders.h"

#include <gtest/gtest.h>

namespace distgpu::scaling {
namespace {

using Indices = std::vector<std::uint32_t>;

constexpr std::string_view two_switches =
    "SwitchName=s0 Level=1 LinkSpeed=1 Nodes=node[01-04] Switches=s[1-2]\n"
    "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=node[01,03]\n"
    "SwitchName=s2 Level=0 LinkSpeed=1 Nodes=node[02,04]\n";

std::vector<Node> nodes_named(const std::vector<std::string>& names) {
    std::vector<Node> nodes;
    for (const std::string& name : names) nodes.push_back({name, 1, {}, {}});
    return nodes;
}

Result<OrderComparison> of_job(const std::vector<std::string>& names, std::string_view list,
                               std::string_view topology) {
    return HostList::parse(list).and_then(
        [&](const HostList& hosts) { return orders_of(nodes_named(names), hosts, topology); });
}

std::string refusal(const Result<OrderComparison>& orders) {
    return orders ? "" : orders.error().message();
}

TEST(Orders, BySwitchNodesOfOneFollowEachOther) {
    const auto orders =
        of_job({"node01", "node02", "node03", "node04"}, "node[01-04]", two_switches);
    ASSERT_TRUE(orders);
    EXPECT_EQ(orders->by_name.nodes, (Indices{0, 1, 2, 3}));
    EXPECT_EQ(orders->by_switch.nodes, (Indices{0, 2, 1, 3}));
    EXPECT_EQ(orders->by_name.crossings, 4U);
    EXPECT_EQ(orders->by_switch.crossings, 2U);
}

// As with order=switch, and as Slurm 26.05 deals them.
TEST(Orders, DoNotDependOnTheOrderOfTheRanks) {
    const auto orders =
        of_job({"node04", "node02", "node03", "node01"}, "node[01-04]", two_switches);
    ASSERT_TRUE(orders);
    EXPECT_EQ(orders->by_name.nodes, (Indices{3, 1, 2, 0}));
    EXPECT_EQ(orders->by_switch.nodes, (Indices{3, 2, 1, 0}));
}

TEST(Orders, NamesAreInTheOrderOfTheirNumbers) {
    const auto orders = of_job({"n10", "n9"}, "n[9-10]", "SwitchName=s1 Level=0 Nodes=n[9-10]\n");
    ASSERT_TRUE(orders);
    EXPECT_EQ(orders->by_name.nodes, (Indices{1, 0}));
}

TEST(Orders, WithoutSwitchesOrWithOneNodeAreRefused) {
    EXPECT_EQ(refusal(of_job({"n1", "n2"}, "n[1-2]", "no topology\n")),
              "distgpu: --order name,switch: Slurm knows no switches above the run's nodes; leave "
              "--order out");
    EXPECT_EQ(refusal(of_job({"node01"}, "node[01-04]", two_switches)),
              "distgpu: --order name,switch: the run has one node; leave --order out");
    EXPECT_EQ(
        refusal(of_job({"node01", "other"}, "node[01-04]", two_switches)),
        "distgpu: --order name,switch: other is not in SLURM_JOB_NODELIST; leave --order out");
}

// Dealt out cyclically over two nodes, and one more on the second.
TEST(Orders, RanksOfANodeFollowEachOther) {
    const World world = world_of({{"b", 0}, {"a", 0}, {"b", 1}, {"a", 1}, {"a", 2}});
    EXPECT_EQ(ranks_in_order(world, {0, 1}), (Indices{0, 2, 1, 3, 4}));
    EXPECT_EQ(ranks_in_order(world, {1, 0}), (Indices{1, 3, 4, 0, 2}));
}

}  // namespace
}  // namespace distgpu::scaling
