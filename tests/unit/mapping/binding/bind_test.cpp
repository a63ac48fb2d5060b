// Which CPUs, GPUs and ports the tasks of a node get: by hand, and on random machines.
#include "base/format.h"
#include "mapping/binding/binding.h"
#include "mapping/spec/parse_spec.h"
#include "two_socket_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

namespace distgpu {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

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

TEST(BindOneMask, IsDividedByWhatIsNear) {
    const auto divided = [](const std::vector<std::uint32_t>& gpu_numas, std::uint32_t tasks,
                            const CpuSet& mask, std::uint32_t cpus_per_task = 0) {
        const NodeTopology node = two_socket_node(gpu_numas);
        SlurmShare share = whole_node(node, tasks);
        share.masks.assign(tasks, mask);
        share.cpus_per_task = cpus_per_task;
        return cpus(bind(node, {}, share));
    };
    const CpuSet all = CpuSet::range(0, 31);
    // GPUs in an order that is not that of the NUMA nodes, as on MI250X nodes.
    EXPECT_THAT(divided({3, 1}, 2, all), ElementsAre("12-15,28-31", "4-7,20-23"));
    // Neighbours of one NUMA node split its cores evenly; siblings stay together.
    EXPECT_THAT(divided({0, 0, 2}, 3, all), ElementsAre("0-1,16-17", "2-3,18-19", "8-11,24-27"));
    // More tasks than cores of a NUMA node split its threads.
    EXPECT_THAT(divided({1}, 4, {4, 20, 5, 21}), ElementsAre("4", "20", "5", "21"));
    // Tasks 0 and 1 are near GPU 0, of whose cores the mask has one thread: floor(0*1/2) to
    // floor(1*1/2) is nothing for task 0. The spare one comes from task 2, which has two.
    EXPECT_THAT(divided({0, 2}, 3, {0, 8, 9}), ElementsAre("9", "0", "8"));
    // More tasks than CPUs share the mask.
    EXPECT_THAT(divided({1}, 3, {4, 5}), ElementsAre("4-5", "4-5", "4-5"));
    // Without near CPUs, in the GPUs' packages: NUMA node 1 is of GPU 0's, 3 of GPU 1's.
    EXPECT_THAT(divided({0, 2}, 2, cores(4, 7) | cores(12, 15)),
                ElementsAre("4-7,20-23", "12-15,28-31"));
    // Far from every GPU, evenly.
    EXPECT_THAT(divided({0, 1}, 2, cores(8, 11)), ElementsAre("8-9,24-25", "10-11,26-27"));
    // A task keeps the CPUs that it asked for: 8 threads are near; 4 more come from the other NUMA
    // node of the package.
    EXPECT_THAT(divided({0, 3}, 2, all, 12), ElementsAre("0-5,16-21", "8-9,12-15,24-25,28-31"));
    // A surplus is given up where no core is free: near GPU 0 is one; task 1 gives its last one.
    EXPECT_THAT(divided({0, 3}, 2, cores(0, 0) | cores(12, 14), 4),
                ElementsAre("0,14,16,30", "12-13,28-29"));
    // Without GPUs tasks stay within NUMA nodes: the middle cores 1, 4, 6, 9, 12, 14 of 16.
    EXPECT_THAT(divided({}, 6, all), ElementsAre("0-3,16-19", "4-5,20-21", "6-7,22-23",
                                                 "8-11,24-27", "12-13,28-29", "14-15,30-31"));
    // Few tasks get whole ones: the nodes' middle cores 2, 6, 10, 14 fall to tasks 0, 1, 1, 2.
    EXPECT_THAT(divided({}, 3, all), ElementsAre("0-3,16-19", "4-11,20-27", "12-15,28-31"));
    // Lopsided NUMA nodes are split by cores: of 0, 4, 8, 12-15 the nodes' middle ones, at 0, 1, 2
    // and 5 of 7, would leave task 1 (2.3 to 4.7) with none.
    EXPECT_THAT(divided({}, 3, {0, 4, 8, 12, 13, 14, 15}), ElementsAre("0,4", "8,12", "13-15"));
    // A mask that the topology does not hold is kept.
    EXPECT_THAT(divided({0, 3}, 2, all | CpuSet{99}), ElementsAre("0-31,99", "0-31,99"));
    // GPUs of unknown place are near to everything.
    NodeTopology node = two_socket_node({0, 0});
    for (Gpu& gpu : node.gpus) gpu.cpus = {};
    EXPECT_THAT(cpus(bind(node, {}, whole_node(node, 2))), ElementsAre("0-7,16-23", "8-15,24-31"));
    EXPECT_THAT(cpus(bind(node, {.near_cpus = false}, whole_node(node, 2))),
                ElementsAre("0-31", "0-31"));
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

TEST(BindPorts, WithoutGpusThePortIsNearTheCpus) {
    const NodeTopology node = two_socket_node({}, {3, 1});
    SlurmShare share = whole_node(node, 3);
    share.masks = {cores(4, 7), cores(12, 15), cores(0, 3)};
    const NodeBinding bound = bind(node, {}, share);
    // Task 2 is near to neither: the first of both.
    EXPECT_THAT(hcas(node, bound), ElementsAre("mlx5_1", "mlx5_0", "mlx5_0"));
    EXPECT_EQ(bound.tasks[2].port_distance, Distance::sys);
}

TEST(BindPorts, OnlyVerbsDevicesAreDealtAndNoneWhereThePolicySaysSo) {
    NodeTopology node = two_socket_node({0}, {0, 0});
    EXPECT_THAT(hcas(node, bind(node, {.near_hcas = false}, whole_node(node, 1))),
                ElementsAre("none"));
    node.hcas[0].kind = HcaKind::efa;
    node.hcas[1].kind = HcaKind::slingshot;
    EXPECT_THAT(hcas(node, bind(node, {}, whole_node(node, 1))), ElementsAre("none"));
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

using State = HcaPort::State;
using Link = HcaPort::Link;

// The verdict on each HCA's one port; "" where it is eligible.
std::vector<std::string> judged(const std::vector<HcaPort>& ports) {
    NodeTopology node = two_socket_node({}, std::vector<std::uint32_t>(ports.size(), 0));
    for (std::size_t i = 0; i < ports.size(); ++i) node.hcas[i].ports = {ports[i]};
    std::vector<std::string> whys;
    for (const auto& of_hca : port_eligibility(node)) {
        EXPECT_EQ(of_hca[0].eligible, of_hca[0].reason.empty());
        whys.push_back(of_hca[0].reason);
    }
    return whys;
}

TEST(JudgePorts, KnowsTheComputeNetwork) {
    constexpr Link infiniband = Link::infiniband;
    constexpr Link ethernet = Link::ethernet;
    const HcaPort down{1, State::down, infiniband, 200};
    const HcaPort unknown{1, State::unknown, infiniband, 200};
    const auto active = [](Link link, double gbps) {
        return HcaPort{1, State::active, link, gbps};
    };
    EXPECT_THAT(judged({active(infiniband, 200), down, unknown}),
                ElementsAre("", "down", "state not known"));
    // All ports count where no state is known.
    EXPECT_THAT(judged({unknown, unknown}), ElementsAre("", ""));
    // A management NIC is too slow, and a down port's rate does not count.
    EXPECT_THAT(judged({active(ethernet, 400), active(ethernet, 200), active(ethernet, 25),
                        active(ethernet, 0)}),
                ElementsAre("", "", "25 Gb/s, the fastest has 400 Gb/s", ""));
    EXPECT_THAT(judged({{1, State::down, ethernet, 400}, active(ethernet, 100)}),
                ElementsAre("down", ""));
    EXPECT_THAT(judged({active(infiniband, 200), active(ethernet, 200)}),
                ElementsAre("", "Ethernet on an InfiniBand node"));
    EXPECT_THAT(judged({down, active(ethernet, 200)}), ElementsAre("down", ""));
    // A slow InfiniBand port is not the compute fabric.
    EXPECT_THAT(judged({active(infiniband, 56), active(ethernet, 400)}),
                ElementsAre("56 Gb/s, the fastest has 400 Gb/s", ""));
}

constexpr std::uint32_t seed = 20261121;
constexpr int machines = 6'000;

class Dice {
  public:
    std::uint32_t roll(std::uint32_t first, std::uint32_t last) {
        return std::uniform_int_distribution<std::uint32_t>(first, last)(engine);
    }
    bool one_in(std::uint32_t n) { return roll(1, n) == 1; }

    std::mt19937 engine{seed};
};

struct Case {
    NodeTopology topology;
    BindingPolicy policy;
    SlurmShare share;
};

CpuSet random_mask(Dice& dice, const CpuSet& all) {
    CpuSet mask{all.cpus()[dice.roll(0, all.count() - 1)]};
    const std::uint32_t sparse = dice.roll(1, 4);
    for (const std::uint32_t cpu : all.cpus()) {
        if (dice.one_in(sparse)) mask.add(cpu);
    }
    return mask;
}

// Siblings stand a whole machine of cores apart; devices are near a NUMA node, or nowhere.
Case random_case(Dice& dice) {
    Case c;
    CpuSet all;
    const std::uint32_t numas = dice.roll(1, 6);
    const std::uint32_t numas_of_package = dice.roll(1, 3);
    const std::uint32_t cores = dice.roll(1, 5);
    const std::uint32_t threads = dice.roll(1, 3);
    for (std::uint32_t core = 0; core < numas * cores; ++core) {
        const std::uint32_t numa = core / cores;
        if (numa == c.topology.numas.size()) c.topology.numas.push_back({numa, {}});
        CpuSet cpus;
        for (std::uint32_t i = 0; i < threads; ++i) cpus.add(core + i * numas * cores);
        c.topology.cores.push_back({cpus, numa, numa / numas_of_package});
        c.topology.numas[numa].cpus |= cpus;
        all |= cpus;
    }
    const auto place = [&] {
        const CpuSet& near = c.topology.numas[dice.roll(0, numas - 1)].cpus;
        return dice.one_in(8) ? CpuSet{} : near;
    };
    c.topology.hcas.resize(dice.roll(0, 4));
    for (Hca& hca : c.topology.hcas) {
        hca.cpus = place();
        if (dice.one_in(5)) hca.kind = HcaKind::efa;
        hca.ports.resize(dice.roll(0, 2));
        for (HcaPort& port : hca.ports) {
            port.state = static_cast<State>(dice.roll(0, 2));
            port.link = static_cast<Link>(dice.roll(0, 2));
            port.gbps = dice.roll(0, 4) * 100;
        }
    }
    c.topology.gpus.resize(dice.roll(0, 5));
    for (std::uint32_t gpu = 0; gpu < c.topology.gpus.size(); ++gpu) {
        c.topology.gpus[gpu].cpus = place();
        auto& row = c.topology.distances.emplace_back(c.topology.hcas.size());
        for (Distance& distance : row) distance = static_cast<Distance>(dice.roll(0, 4));
        if (!dice.one_in(4)) c.share.gpus.push_back(gpu);
    }
    const bool one_mask = dice.one_in(2);
    c.share.masks.assign(dice.roll(1, 5), random_mask(dice, all));
    for (CpuSet& mask : c.share.masks) {
        if (!one_mask) mask = random_mask(dice, all);
    }
    c.share.cpus_per_task = dice.roll(0, 6);
    c.policy.near_cpus = !dice.one_in(8);
    return c;
}

bool one_mask(const Case& c) {
    return std::all_of(c.share.masks.begin(), c.share.masks.end(),
                       [&](const CpuSet& mask) { return mask == c.share.masks.front(); });
}

void check_cpus(const Case& c, const NodeBinding& node) {
    CpuSet taken;
    const CpuSet& mask = c.share.masks.front();
    const auto tasks = static_cast<std::uint32_t>(c.share.masks.size());
    const bool divided = one_mask(c) && c.policy.near_cpus && mask.count() >= tasks;
    const std::uint32_t at_least =
        std::clamp(c.share.cpus_per_task, 1U, std::max(1U, mask.count() / tasks));
    for (std::size_t task = 0; task < tasks; ++task) {
        const CpuSet& cpus = node.tasks[task].cpus;
        if (!divided) {
            ASSERT_EQ(cpus, c.share.masks[task]);
            continue;
        }
        ASSERT_TRUE(mask.contains(cpus)) << "widened";
        ASSERT_FALSE(taken.intersects(cpus)) << "two tasks on one CPU";
        ASSERT_GE(cpus.count(), at_least);
        taken |= cpus;
    }
}

void check_gpus(const Case& c, const NodeBinding& node) {
    const std::vector<std::uint32_t>& gpus = c.share.gpus;
    EXPECT_THAT(node.gpu_order, UnorderedElementsAreArray(gpus));
    const std::size_t tasks = node.tasks.size();
    const std::size_t least = gpus.empty() ? 0 : std::max<std::size_t>(1, gpus.size() / tasks);
    std::vector<std::uint32_t> used;
    for (std::size_t task = 0; task < tasks; ++task) {
        const auto& own = node.tasks[task].gpus;
        ASSERT_GE(own.size(), least);
        ASSERT_LE(own.size(), least + 1);
        if (!gpus.empty() && tasks <= gpus.size()) {
            ASSERT_EQ(own.front(), node.gpu_order[task]);
        }
        used.insert(used.end(), own.begin(), own.end());
    }
    std::sort(used.begin(), used.end());
    if (tasks > gpus.size()) used.erase(std::unique(used.begin(), used.end()), used.end());
    ASSERT_EQ(used, gpus) << "every GPU has a task, and one task where there are enough";
}

// The mean over a mask's CPUs of the steps to a GPU, in thousandths: 0 near it, 1 in a package of
// CPUs near it, 2 elsewhere.
std::int64_t mean_steps(const NodeTopology& topology, const CpuSet& mask, const Gpu& gpu) {
    if (gpu.cpus.empty()) return 0;
    std::set<std::uint32_t> packages;
    for (const Core& core : topology.cores) {
        if (core.cpus.intersects(gpu.cpus)) packages.insert(core.package);
    }
    std::int64_t steps = 0;
    for (const Core& core : topology.cores) {
        for (const std::uint32_t cpu : (core.cpus & mask).cpus()) {
            if (!gpu.cpus.contains(cpu)) steps += packages.contains(core.package) ? 1 : 2;
        }
    }
    return 1000 * steps / mask.count();
}

using Costs = std::vector<std::vector<std::int64_t>>;  // [item][owner]

// The least total of the items from `item` on, by trying every way to give each owner floor or
// ceil of all.
std::int64_t least_total(const Costs& costs, std::size_t item, std::vector<std::size_t>& counts) {
    const std::size_t owners = counts.size();
    const std::size_t share = costs.size() / owners;
    std::int64_t least = std::numeric_limits<std::int32_t>::max();
    if (item == costs.size()) {
        return *std::min_element(counts.begin(), counts.end()) < share ? least : 0;
    }
    for (std::size_t owner = 0; owner < owners; ++owner) {
        if (counts[owner] == (costs.size() + owners - 1) / owners) continue;
        ++counts[owner];
        least = std::min(least, costs[item][owner] + least_total(costs, item + 1, counts));
        --counts[owner];
    }
    return least;
}

void check_optimum(const Case& c, const NodeBinding& node) {
    const auto& gpus = c.share.gpus;
    const auto& masks = c.share.masks;
    if (one_mask(c) || gpus.empty()) return;
    const auto distance = [&](std::size_t task, std::uint32_t gpu) {
        return mean_steps(c.topology, masks[task], c.topology.gpus[gpu]);
    };
    const bool gpus_are_dealt = masks.size() <= gpus.size();
    std::vector<std::size_t> counts(std::min(masks.size(), gpus.size()));
    Costs costs(std::max(masks.size(), gpus.size()));
    for (std::size_t i = 0; i < costs.size(); ++i) {
        for (std::size_t j = 0; j < counts.size(); ++j) {
            costs[i].push_back(distance(gpus_are_dealt ? j : i, gpus[gpus_are_dealt ? i : j]));
        }
    }
    std::int64_t total = 0;
    for (std::size_t task = 0; task < masks.size(); ++task) {
        for (const std::uint32_t gpu : node.tasks[task].gpus) total += distance(task, gpu);
    }
    ASSERT_EQ(total, least_total(costs, 0, counts));
}

void check_ports(const Case& c, const NodeBinding& node) {
    const auto verdicts = port_eligibility(c.topology);
    for (const TaskBinding& task : node.tasks) {
        std::map<PortRef, Distance> usable;
        for (std::uint32_t hca = 0; hca < verdicts.size(); ++hca) {
            const Hca& device = c.topology.hcas[hca];
            const bool near = device.cpus.empty() || device.cpus.intersects(task.cpus);
            Distance distance = near ? Distance::node : Distance::sys;
            if (!task.gpus.empty()) distance = c.topology.distances[task.gpus.front()][hca];
            for (std::uint32_t port = 0; port < verdicts[hca].size(); ++port) {
                if (device.kind != HcaKind::verbs || !verdicts[hca][port].eligible) continue;
                usable[{hca, port}] = distance;
            }
        }
        ASSERT_EQ(task.port.has_value(), !usable.empty());
        if (usable.empty()) continue;
        ASSERT_TRUE(usable.contains(*task.port));
        ASSERT_EQ(usable.at(*task.port), task.port_distance);
        for (const auto& [port, distance] : usable) ASSERT_GE(distance, task.port_distance);
    }
}

TEST(BindProperty, HoldsOnRandomMachines) {
    Dice dice;
    for (int i = 0; i < machines; ++i) {
        SCOPED_TRACE(testing::Message() << "machine " << i << " of seed " << seed);
        Case c = random_case(dice);
        const NodeBinding node = bind(c.topology, c.policy, c.share);
        ASSERT_EQ(node.tasks.size(), c.share.masks.size());
        check_cpus(c, node);
        check_gpus(c, node);
        check_optimum(c, node);
        check_ports(c, node);
        std::shuffle(c.share.gpus.begin(), c.share.gpus.end(), dice.engine);
        ASSERT_EQ(bind(c.topology, c.policy, c.share), node) << "the order of the list matters";
        if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace distgpu
