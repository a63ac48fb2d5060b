#include "mapping/binding/binding.h"
#include "two_socket_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace distgpu {
namespace {

using testing::ElementsAre;

// The whole node for every task.
SlurmShare whole_node(const NodeTopology& node, std::uint32_t tasks) {
    SlurmShare share;
    share.masks.assign(tasks, CpuSet::range(0, 31));
    share.gpus.resize(node.gpus.size());
    std::iota(share.gpus.begin(), share.gpus.end(), 0U);
    return share;
}

std::vector<std::string> cpus(const NodeBinding& binding) {
    std::vector<std::string> lists;
    for (const TaskBinding& task : binding.tasks) lists.push_back(task.cpus.to_string());
    return lists;
}

std::vector<std::vector<std::uint32_t>> gpus(const NodeBinding& binding) {
    std::vector<std::vector<std::uint32_t>> lists;
    for (const TaskBinding& task : binding.tasks) lists.push_back(task.gpus);
    return lists;
}

std::vector<std::string> hcas(const NodeTopology& node, const NodeBinding& binding) {
    std::vector<std::string> names;
    for (const TaskBinding& task : binding.tasks) {
        names.push_back(task.port ? node.hcas[task.port->hca].name : "none");
    }
    return names;
}

TEST(BindOneMask, EachTaskGetsTheCoresOfItsGpusNumaNode) {
    // GPUs in an order that is not that of the NUMA nodes, as on MI250X nodes.
    const NodeTopology node = two_socket_node({3, 1});
    const NodeBinding bound = bind(node, {}, whole_node(node, 2));
    EXPECT_THAT(gpus(bound), ElementsAre(ElementsAre(0), ElementsAre(1)));
    EXPECT_THAT(cpus(bound), ElementsAre("12-15,28-31", "4-7,20-23"));
}

TEST(BindOneMask, NeighboursOfOneNumaNodeSplitItsCoresEvenly) {
    const NodeTopology node = two_socket_node({0, 0, 2});
    // Four cores between the first two; siblings stay together.
    EXPECT_THAT(cpus(bind(node, {}, whole_node(node, 3))),
                ElementsAre("0-1,16-17", "2-3,18-19", "8-11,24-27"));
}

TEST(BindOneMask, MoreTasksThanCoresOfANumaNodeSplitItsThreads) {
    const NodeTopology node = two_socket_node({1});
    SlurmShare share = whole_node(node, 4);
    for (CpuSet& mask : share.masks) mask = {4, 20, 5, 21};
    EXPECT_THAT(cpus(bind(node, {}, share)), ElementsAre("4", "20", "5", "21"));
}

TEST(BindOneMask, ATaskWithoutANearThreadGetsAnotherOne) {
    const NodeTopology node = two_socket_node({0, 2});
    SlurmShare share = whole_node(node, 3);
    // Tasks 0 and 1 are near GPU 0, of whose cores the mask has one thread: floor(0*1/2) to
    // floor(1*1/2) is nothing for task 0. The spare one comes from task 2, which has two.
    for (CpuSet& mask : share.masks) mask = {0, 8, 9};
    EXPECT_THAT(cpus(bind(node, {}, share)), ElementsAre("9", "0", "8"));
}

TEST(BindOneMask, MoreTasksThanCpusShareTheMask) {
    const NodeTopology node = two_socket_node({1});
    SlurmShare share = whole_node(node, 3);
    for (CpuSet& mask : share.masks) mask = {4, 5};
    EXPECT_THAT(cpus(bind(node, {}, share)), ElementsAre("4-5", "4-5", "4-5"));
}

TEST(BindOneMask, AMaskWithoutNearCpusIsDividedInTheGpusPackage) {
    const NodeTopology node = two_socket_node({0, 2});
    SlurmShare share = whole_node(node, 2);
    // NUMA node 1 is of GPU 0's package, NUMA node 3 of GPU 1's.
    for (CpuSet& mask : share.masks) mask = cores(4, 7) | cores(12, 15);
    EXPECT_THAT(cpus(bind(node, {}, share)), ElementsAre("4-7,20-23", "12-15,28-31"));
}

TEST(BindOneMask, AMaskFarFromEveryGpuIsDividedEvenly) {
    const NodeTopology node = two_socket_node({0, 1});
    SlurmShare share = whole_node(node, 2);
    for (CpuSet& mask : share.masks) mask = cores(8, 11);
    EXPECT_THAT(cpus(bind(node, {}, share)), ElementsAre("8-9,24-25", "10-11,26-27"));
}

TEST(BindOneMask, GpusOfUnknownPlaceAreNearToEverything) {
    NodeTopology node = two_socket_node({0, 0});
    for (Gpu& gpu : node.gpus) gpu.cpus = {};
    EXPECT_THAT(cpus(bind(node, {}, whole_node(node, 2))), ElementsAre("0-7,16-23", "8-15,24-31"));
}

TEST(BindOneMask, ATaskKeepsTheCpusThatItAskedFor) {
    const NodeTopology node = two_socket_node({0, 3});
    SlurmShare share = whole_node(node, 2);
    share.cpus_per_task = 12;
    // 8 threads are near; 4 more come from the other NUMA node of the package.
    EXPECT_THAT(cpus(bind(node, {}, share)), ElementsAre("0-5,16-21", "8-9,12-15,24-25,28-31"));
}

TEST(BindOneMask, ASurplusIsGivenUpWhereNoCoreIsFree) {
    const NodeTopology node = two_socket_node({0, 3});
    SlurmShare share = whole_node(node, 2);
    for (CpuSet& mask : share.masks) mask = cores(0, 0) | cores(12, 14);
    share.cpus_per_task = 4;
    // Near GPU 0 is one core; task 1 gives its last one.
    EXPECT_THAT(cpus(bind(node, {}, share)), ElementsAre("0,14,16,30", "12-13,28-29"));
}

TEST(BindOneMask, FewerTasksThanGpusGetNeighboursAndTheirCores) {
    const NodeTopology node = two_socket_node({0, 1, 2, 3});
    const NodeBinding bound = bind(node, {}, whole_node(node, 2));
    EXPECT_THAT(gpus(bound), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
    EXPECT_THAT(cpus(bound), ElementsAre("0-7,16-23", "8-15,24-31"));
    // cuda:0 and cuda:1 are the tasks' first ones.
    EXPECT_THAT(bound.gpu_order, ElementsAre(0, 2, 1, 3));
}

TEST(BindOneMask, MoreTasksThanGpusShareThemInTurn) {
    const NodeTopology node = two_socket_node({0, 3});
    const NodeBinding bound = bind(node, {}, whole_node(node, 4));
    EXPECT_THAT(gpus(bound),
                ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(1), ElementsAre(1)));
    EXPECT_THAT(cpus(bound), ElementsAre("0-1,16-17", "2-3,18-19", "12-13,28-29", "14-15,30-31"));
    EXPECT_THAT(bound.gpu_order, ElementsAre(0, 1));
}

TEST(BindOneMask, WithoutGpusTasksStayWithinNumaNodes) {
    const NodeTopology node = two_socket_node({});
    // Six tasks on four nodes: the middle cores 1, 4, 6, 9, 12, 14 of 16.
    EXPECT_THAT(cpus(bind(node, {}, whole_node(node, 6))),
                ElementsAre("0-3,16-19", "4-5,20-21", "6-7,22-23", "8-11,24-27", "12-13,28-29",
                            "14-15,30-31"));
}

TEST(BindOneMask, WithoutGpusFewTasksGetWholeNumaNodes) {
    const NodeTopology node = two_socket_node({});
    // The nodes' middle cores 2, 6, 10, 14 of 16 fall to tasks 0, 1, 1, 2 of 3.
    EXPECT_THAT(cpus(bind(node, {}, whole_node(node, 3))),
                ElementsAre("0-3,16-19", "4-11,20-27", "12-15,28-31"));
}

TEST(BindOneMask, WithoutGpusLopsidedNumaNodesAreSplitByCores) {
    const NodeTopology node = two_socket_node({});
    SlurmShare share = whole_node(node, 3);
    // Cores 0, 4, 8, 12-15: the NUMA nodes' middle ones, at 0, 1, 2 and 5 of 7, would leave task 1
    // (2.3 to 4.7) with none.
    for (CpuSet& mask : share.masks) mask = {0, 4, 8, 12, 13, 14, 15};
    EXPECT_THAT(cpus(bind(node, {}, share)), ElementsAre("0,4", "8,12", "13-15"));
}

TEST(BindOneMask, CpusAreKeptWhereThePolicySaysSo) {
    const NodeTopology node = two_socket_node({0, 3});
    BindingPolicy policy;
    policy.near_cpus = false;
    EXPECT_THAT(cpus(bind(node, policy, whole_node(node, 2))), ElementsAre("0-31", "0-31"));
}

TEST(BindOneMask, AMaskThatTheTopologyDoesNotHoldIsKept) {
    const NodeTopology node = two_socket_node({0, 3});
    SlurmShare share = whole_node(node, 2);
    for (CpuSet& mask : share.masks) mask.add(99);
    EXPECT_THAT(cpus(bind(node, {}, share)), ElementsAre("0-31,99", "0-31,99"));
}

TEST(BindOwnMasks, EachTaskGetsTheGpuNearItsCpus) {
    const NodeTopology node = two_socket_node({3, 1, 2, 0});
    SlurmShare share = whole_node(node, 4);
    for (std::uint32_t i = 0; i < 4; ++i) share.masks[i] = cores(4 * i, 4 * i + 3);
    const NodeBinding bound = bind(node, {}, share);
    EXPECT_THAT(gpus(bound),
                ElementsAre(ElementsAre(3), ElementsAre(1), ElementsAre(2), ElementsAre(0)));
    EXPECT_THAT(bound.gpu_order, ElementsAre(3, 1, 2, 0));
    EXPECT_EQ(bound.tasks[1].cpus, cores(4, 7));
}

TEST(BindOwnMasks, TheTotalDecidesAndNotTheFirstTask) {
    const NodeTopology node = two_socket_node({0, 2});
    SlurmShare share = whole_node(node, 2);
    // GPU 0 is the nearer one for both. Task 0 to it and task 1 to GPU 1: 500 + 2000;
    // the other way round: 2000 + 0.
    share.masks = {cores(0, 1) | cores(4, 5), cores(0, 3)};
    EXPECT_THAT(gpus(bind(node, {}, share)), ElementsAre(ElementsAre(1), ElementsAre(0)));
}

TEST(BindOwnMasks, ATasksGpusAreListedNearestFirst) {
    const NodeTopology node = two_socket_node({0, 1, 2, 3});
    SlurmShare share = whole_node(node, 2);
    share.masks = {cores(4, 7), cores(12, 15)};
    const NodeBinding bound = bind(node, {}, share);
    EXPECT_THAT(gpus(bound), ElementsAre(ElementsAre(1, 0), ElementsAre(3, 2)));
    EXPECT_THAT(bound.gpu_order, ElementsAre(1, 3, 0, 2));
}

TEST(BindOwnMasks, EqualDistancesKeepTheOrder) {
    NodeTopology node = two_socket_node({0, 0, 0, 0});
    SlurmShare share = whole_node(node, 4);
    for (std::uint32_t i = 0; i < 4; ++i) share.masks[i] = cores(i, i);
    EXPECT_THAT(bind(node, {}, share).gpu_order, ElementsAre(0, 1, 2, 3));
    share.masks = {cores(0, 1), cores(2, 3)};
    EXPECT_THAT(gpus(bind(node, {}, share)), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(BindPorts, TheNearestPortAndTiesInTurn) {
    const NodeTopology node = two_socket_node({0, 0, 0, 3}, {0, 0, 3});
    const NodeBinding bound = bind(node, {}, whole_node(node, 4));
    EXPECT_THAT(hcas(node, bound), ElementsAre("mlx5_0", "mlx5_1", "mlx5_0", "mlx5_2"));
    EXPECT_EQ(bound.tasks[0].port_distance, Distance::node);
}

TEST(BindPorts, BothPortsOfACardAreDealt) {
    NodeTopology node = two_socket_node({0, 0}, {0});
    node.hcas[0].ports.push_back({2, HcaPort::State::active, HcaPort::Link::infiniband, 400});
    const NodeBinding bound = bind(node, {}, whole_node(node, 2));
    EXPECT_EQ(bound.tasks[0].port, (PortRef{0, 0}));
    EXPECT_EQ(bound.tasks[1].port, (PortRef{0, 1}));
}

TEST(BindPorts, WithoutGpusThePortIsNearTheCpus) {
    const NodeTopology node = two_socket_node({}, {3, 1});
    SlurmShare share = whole_node(node, 3);
    share.masks = {cores(4, 7), cores(12, 15), cores(0, 3)};
    const NodeBinding bound = bind(node, {}, share);
    // Task 2 is near to neither: the first of both.
    EXPECT_THAT(hcas(node, bound), ElementsAre("mlx5_1", "mlx5_0", "mlx5_0"));
    EXPECT_EQ(bound.tasks[2].port_distance, Distance::sys);
}

TEST(BindPorts, OnlyVerbsDevicesAreDealt) {
    NodeTopology node = two_socket_node({0}, {0, 0});
    node.hcas[0].kind = HcaKind::efa;
    node.hcas[1].kind = HcaKind::slingshot;
    EXPECT_THAT(hcas(node, bind(node, {}, whole_node(node, 1))), ElementsAre("none"));
}

TEST(BindPorts, NoneWhereThePolicySaysSo) {
    const NodeTopology node = two_socket_node({0}, {0});
    BindingPolicy policy;
    policy.near_hcas = false;
    EXPECT_THAT(hcas(node, bind(node, policy, whole_node(node, 1))), ElementsAre("none"));
}

// One card: its ports are equally near, and each is a way of its own to the fabric.
TEST(BindPorts, OfADualPortHcaAreDealtInTurn) {
    NodeTopology node = two_socket_node({0, 0, 0}, {0});
    HcaPort second = node.hcas[0].ports.at(0);
    second.number = 2;
    node.hcas[0].ports.push_back(second);
    const NodeBinding bound = bind(node, {}, whole_node(node, 3));
    EXPECT_EQ(bound.tasks[0].port, (PortRef{0, 0}));
    EXPECT_EQ(bound.tasks[1].port, (PortRef{0, 1}));
    EXPECT_EQ(bound.tasks[2].port, (PortRef{0, 0}));
}

}  // namespace
}  // namespace distgpu
