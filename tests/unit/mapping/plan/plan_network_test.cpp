// What NCCL, Gloo and UCX are told of the node's network devices. The HCAs of two_socket_node()
// have one ACTIVE InfiniBand port of 400 Gb/s each.
#include "bound_node.h"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

namespace distgpu::plan_testing {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::StartsWith;
using State = HcaPort::State;
using Link = HcaPort::Link;

constexpr HcaPort management{1, State::active, Link::ethernet, 25};

NodePlan planned_with(const NodeTopology& topology, const std::vector<std::uint32_t>& gpus,
                      std::uint32_t tasks, const char* spec = "pytorch") {
    return planned_on(spec, bound_node(topology, everywhere(tasks), gpus));
}

// NCCL's ranks fuse what they see of a node: each has to have the same list.
TEST(PlanNcclHcas, LeaveOutPortsOfOtherNetworks) {
    NodeTopology topology = two_socket_node({0, 3}, {0, 1, 3});
    topology.hcas[1].ports = {management};
    topology.hcas[2].ports.push_back({2, State::active, Link::ethernet, 400});
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 2), "NCCL_IB_HCA"),
                Each("=mlx5_0:1,mlx5_2:1"));
    // Also for the one task that has no choice, and for a launcher's processes.
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 1), "NCCL_IB_HCA"),
                Each("=mlx5_0:1,mlx5_2:1"));
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 1, "torchrun"), "NCCL_IB_HCA"),
                Each("=mlx5_0:1,mlx5_2:1"));
}

TEST(PlanNcclHcas, NameAPortByItsNumber) {
    NodeTopology topology = two_socket_node({0}, {0, 0});
    topology.hcas[0].ports = {{2, State::active, Link::infiniband, 400}};
    topology.hcas[1].ports = {management};
    EXPECT_THAT(of_all(planned_with(topology, {0}, 1), "NCCL_IB_HCA"), Each("=mlx5_0:2"));
}

// What NCCL finds by itself it is not told.
TEST(PlanNcclHcas, AreNotSetWhereNoActivePortIsLeftOut) {
    struct Row {
        const char* title;
        HcaPort second;
    };
    const std::vector<Row> rows = {
        {"of the same network", {1, State::active, Link::infiniband, 400}},
        {"down", {1, State::down, Link::infiniband, 400}},
        {"down, of another network", {1, State::down, Link::ethernet, 25}},
        {"not known", {1, State::unknown, Link::ethernet, 25}},
    };
    for (const auto& row : rows) {
        NodeTopology topology = two_socket_node({0}, {0, 1});
        topology.hcas[1].ports = {row.second};
        EXPECT_THAT(of_all(planned_with(topology, {0}, 1), "NCCL_IB_HCA"), Each("-")) << row.title;
    }
}

// The node's network is EFA or Slingshot, which NCCL reaches through a plugin.
TEST(PlanNcclHcas, AreNotSetWithoutAnEligibleVerbsPort) {
    for (const HcaKind kind : {HcaKind::efa, HcaKind::slingshot}) {
        NodeTopology topology = two_socket_node({0}, {0, 1});
        topology.hcas[0].kind = kind;
        topology.hcas[1].ports = {management};
        EXPECT_THAT(of_all(planned_with(topology, {0}, 1), "NCCL_IB_HCA"), Each("-"));
    }
}

// NCCL reads the first 32 entries and drops the rest without a word.
TEST(PlanNcclHcas, AreAtMostThirtyTwo) {
    for (const std::uint32_t eligible : {32U, 33U}) {
        NodeTopology topology = two_socket_node({0}, std::vector<std::uint32_t>(eligible + 1, 0));
        topology.hcas[0].ports = {management};
        std::string expected = "-";
        if (eligible == 32) {
            expected = "=mlx5_1:1";
            for (int hca = 2; hca <= 32; ++hca) {
                expected += ",mlx5_" + std::to_string(hca) + ":1";
            }
        }
        EXPECT_THAT(of_all(planned_with(topology, {0}, 1), "NCCL_IB_HCA"), Each(expected));
    }
}

TEST(PlanUcxDevices, AreTheNearestOfEachTask) {
    const NodeTopology topology = two_socket_node({0, 0, 0, 3}, {0, 0, 3});
    EXPECT_THAT(of_all(planned_with(topology, {0, 1, 2, 3}, 4), "UCX_NET_DEVICES"),
                ElementsAre("mlx5_0:1", "mlx5_1:1", "mlx5_0:1", "mlx5_2:1"));
}

TEST(PlanUcxDevices, AreLeftToUcxWithoutAChoice) {
    NodeTopology topology = two_socket_node({0, 3}, {0, 3});
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 2), "UCX_NET_DEVICES"),
                ElementsAre("mlx5_0:1", "mlx5_1:1"));
    // A task alone may use all of them, and so may the processes of a launcher.
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 1), "UCX_NET_DEVICES"), Each("-"));
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 1, "torchrun"), "UCX_NET_DEVICES"),
                Each("-"));
    topology.hcas[0].ports[0].state = State::down;
    EXPECT_THAT(of_all(planned_with(topology, {0, 1}, 2), "UCX_NET_DEVICES"), Each("-"));
    const NodeTopology none = two_socket_node({0, 3});
    EXPECT_THAT(of_all(planned_with(none, {0, 1}, 2), "UCX_NET_DEVICES"), Each("-"));
}

TEST(PlanInterface, IsToldInStepsOfSeveralNodes) {
    const NodeFacts node{.interface = "ib0"};
    const NodePlan two_nodes = planned("pytorch", layout("n[1-2]", {{0, 2, 2, 1}}), 1, node);
    EXPECT_THAT(of_all(two_nodes, "NCCL_SOCKET_IFNAME"), ElementsAre("=ib0", "=ib0"));
    EXPECT_THAT(of_all(two_nodes, "GLOO_SOCKET_IFNAME"), ElementsAre("ib0", "ib0"));
    // Tasks of one node may meet on the loopback.
    const NodePlan one_node = planned("pytorch", layout("n1", {{0, 1, 2, 1}}), 0, node);
    EXPECT_THAT(of_all(one_node, "NCCL_SOCKET_IFNAME"), Each("-"));
    EXPECT_THAT(of_all(one_node, "GLOO_SOCKET_IFNAME"), Each("-"));
    const NodePlan not_known = planned("pytorch", layout("n[1-2]", {{0, 2, 2, 1}}), 1);
    EXPECT_THAT(of_all(not_known, "NCCL_SOCKET_IFNAME"), Each("-"));
    EXPECT_THAT(of_all(not_known, "GLOO_SOCKET_IFNAME"), Each("-"));
}

// A node of which every network variable can be said.
NodeFacts full_node(const NodeTopology& topology) {
    NodeFacts node = bound_node(topology, everywhere(2), {0, 1});
    node.interface = "ib0";
    return node;
}

const Values& network_values() {
    static const Values values{{"NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1"},
                               {"UCX_NET_DEVICES", "mlx5_0:1"},
                               {"NCCL_SOCKET_IFNAME", "=ib0"},
                               {"GLOO_SOCKET_IFNAME", "ib0"}};
    return values;
}

NodeTopology with_management() {
    NodeTopology topology = two_socket_node({0, 3}, {0, 3, 0});
    topology.hcas[2].ports = {management};
    return topology;
}

TEST(PlanNetwork, IsLeftAloneWhereAsked) {
    const NodeTopology topology = with_management();
    const NodeFacts node = full_node(topology);
    for (const auto& [name, value] : network_values()) {
        EXPECT_EQ(of_all(planned_on("pytorch", node), name.c_str())[0], value) << name;
        EXPECT_EQ(of_all(planned_on("pytorch,bind=none,hcas=near", node), name.c_str())[0], value)
            << name;
        for (const char* spec : {"pytorch,hcas=keep", "pytorch,bind=none"}) {
            EXPECT_THAT(of_all(planned_on(spec, node), name.c_str()), Each("-"))
                << spec << " " << name;
        }
    }
}

TEST(PlanNetwork, EachVariableStaysWhereTheUserExportedIt) {
    const NodeTopology topology = with_management();
    for (const auto& [exported, _] : network_values()) {
        NodeFacts node = full_node(topology);
        node.exported = {exported};
        const NodePlan plan = planned_on("pytorch", node);
        for (const auto& [name, value] : network_values()) {
            EXPECT_EQ(of_all(plan, name.c_str())[0], name == exported ? "-" : value)
                << name << " where " << exported << " is exported";
        }
    }
}

}  // namespace
}  // namespace distgpu::plan_testing
