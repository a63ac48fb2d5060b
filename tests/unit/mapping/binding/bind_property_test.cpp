// What bind() promises on any machine: random topologies and masks, with a brute-force
// optimum beside them.
#include "mapping/binding/binding.h"
#include "mapping/topology/port_verdicts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <random>

namespace distgpu {
namespace {

constexpr std::uint32_t seed = 20261121;
constexpr int machines = 24'000;

class Dice {
  public:
    explicit Dice(std::uint32_t start) : engine_(start) {}
    std::uint32_t roll(std::uint32_t first, std::uint32_t last) {
        return std::uniform_int_distribution<std::uint32_t>(first, last)(engine_);
    }
    bool one_in(std::uint32_t n) { return roll(1, n) == 1; }
    template <class T>
    void shuffle(std::vector<T>& values) {
        std::shuffle(values.begin(), values.end(), engine_);
    }

  private:
    std::mt19937 engine_;
};

struct Case {
    NodeTopology topology;
    BindingPolicy policy;
    SlurmShare share;
};

// Siblings follow each other, or stand a whole machine of cores apart.
void add_cores(Dice& dice, NodeTopology& topology) {
    const std::uint32_t packages = dice.roll(1, 3);
    const std::uint32_t numas = dice.roll(1, 3);
    const std::uint32_t cores = dice.roll(1, 5);
    const std::uint32_t threads = dice.roll(1, 3);
    const bool apart = dice.one_in(2);
    const std::uint32_t all = packages * numas * cores;
    for (std::uint32_t core = 0; core < all; ++core) {
        const std::uint32_t numa = core / cores;
        if (numa == topology.numas.size()) topology.numas.push_back({numa, {}});
        CpuSet cpus;
        for (std::uint32_t i = 0; i < threads; ++i) {
            cpus.add(apart ? core + i * all : core * threads + i);
        }
        topology.cores.push_back({cpus, numa, numa / numas});
        topology.numas[numa].cpus |= cpus;
    }
}

// Near one NUMA node, two, or nowhere in particular.
CpuSet random_place(Dice& dice, const NodeTopology& topology) {
    if (dice.one_in(8)) return {};
    const auto numas = static_cast<std::uint32_t>(topology.numas.size());
    CpuSet cpus = topology.numas[dice.roll(0, numas - 1)].cpus;
    if (dice.one_in(4)) cpus |= topology.numas[dice.roll(0, numas - 1)].cpus;
    return cpus;
}

void add_devices(Dice& dice, NodeTopology& topology) {
    topology.gpus.resize(dice.roll(0, 8));
    for (Gpu& gpu : topology.gpus) gpu.cpus = random_place(dice, topology);
    topology.hcas.resize(dice.roll(0, 5));
    for (Hca& hca : topology.hcas) {
        hca.cpus = random_place(dice, topology);
        if (dice.one_in(5)) hca.kind = dice.one_in(2) ? HcaKind::efa : HcaKind::slingshot;
        hca.ports.resize(dice.roll(0, 2));
        for (HcaPort& port : hca.ports) {
            port.state = static_cast<HcaPort::State>(dice.roll(0, 2));
            port.link = static_cast<HcaPort::Link>(dice.roll(0, 2));
            port.gbps = dice.roll(0, 4) * 100;
        }
    }
    for (std::size_t gpu = 0; gpu < topology.gpus.size(); ++gpu) {
        auto& row = topology.distances.emplace_back();
        for (std::size_t hca = 0; hca < topology.hcas.size(); ++hca) {
            row.push_back(static_cast<Distance>(dice.roll(0, 4)));
        }
    }
}

CpuSet random_mask(Dice& dice, const CpuSet& all) {
    CpuSet mask;
    const std::uint32_t sparse = dice.roll(1, 4);
    for (const std::uint32_t cpu : all.cpus()) {
        if (dice.one_in(sparse)) mask.add(cpu);
    }
    if (mask.empty()) mask.add(all.cpus()[dice.roll(0, all.count() - 1)]);
    return mask;
}

Case random_case(Dice& dice) {
    Case result;
    add_cores(dice, result.topology);
    add_devices(dice, result.topology);
    CpuSet all;
    for (const Core& core : result.topology.cores) all |= core.cpus;
    const bool one_mask = dice.one_in(2);
    result.share.masks.assign(dice.roll(1, 8), random_mask(dice, all));
    if (!one_mask) {
        for (CpuSet& mask : result.share.masks) mask = random_mask(dice, all);
    }
    for (std::uint32_t gpu = 0; gpu < result.topology.gpus.size(); ++gpu) {
        if (!dice.one_in(4)) result.share.gpus.push_back(gpu);
    }
    dice.shuffle(result.share.gpus);
    result.share.cpus_per_task = dice.roll(0, 6);
    result.policy.near_cpus = !dice.one_in(8);
    return result;
}

bool one_mask(const Case& c) {
    return std::all_of(c.share.masks.begin(), c.share.masks.end(),
                       [&](const CpuSet& mask) { return mask == c.share.masks.front(); });
}

// Steps from a CPU to a GPU, of binding.h's words: 0 near, 1 the same package, 2 another.
std::int64_t steps(const NodeTopology& topology, std::uint32_t cpu, const Gpu& gpu) {
    if (gpu.cpus.empty() || gpu.cpus.contains(cpu)) return 0;
    for (const Core& core : topology.cores) {
        if (!core.cpus.contains(cpu)) continue;
        for (const Core& near : topology.cores) {
            if (near.package == core.package && near.cpus.intersects(gpu.cpus)) return 1;
        }
    }
    return 2;
}

std::int64_t mean_steps(const NodeTopology& topology, const CpuSet& mask, std::uint32_t gpu) {
    std::int64_t sum = 0;
    for (const std::uint32_t cpu : mask.cpus()) sum += steps(topology, cpu, topology.gpus[gpu]);
    return 1000 * sum / mask.count();
}

// The least total over all ways to give every owner floor or ceil of the items, by dynamic
// programming over sets of items.
std::int64_t brute_force(const std::vector<std::vector<std::int64_t>>& costs) {
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max() / 4;
    const std::size_t items = costs.size();
    const std::size_t owners = costs.front().size();
    const std::size_t sets = std::size_t{1} << items;
    const auto least = static_cast<int>(items / owners);
    const int most = least + (items % owners == 0 ? 0 : 1);
    std::vector<std::int64_t> best(sets, none);
    best[0] = 0;
    for (std::size_t owner = 0; owner < owners; ++owner) {
        std::vector<std::int64_t> cost_of(sets, 0);
        for (std::size_t set = 1; set < sets; ++set) {
            const auto item = static_cast<std::size_t>(std::countr_zero(set));
            cost_of[set] = cost_of[set & (set - 1)] + costs[item][owner];
        }
        std::vector<std::int64_t> next(sets, none);
        for (std::size_t set = 0; set < sets; ++set) {
            for (std::size_t part = set;; part = (part - 1) & set) {
                const int size = std::popcount(part);
                if (size >= least && size <= most) {
                    next[set] = std::min(next[set], best[set & ~part] + cost_of[part]);
                }
                if (part == 0) break;
            }
        }
        best = std::move(next);
    }
    return best[sets - 1];
}

void check_cpus(const Case& c, const NodeBinding& node) {
    CpuSet taken;
    const CpuSet& mask = c.share.masks.front();
    const auto tasks = static_cast<std::uint32_t>(c.share.masks.size());
    const bool divided = one_mask(c) && c.policy.near_cpus && mask.count() >= tasks;
    const std::uint32_t at_least =
        std::clamp(c.share.cpus_per_task, 1U, std::max(1U, mask.count() / tasks));
    for (std::size_t task = 0; task < node.tasks.size(); ++task) {
        const CpuSet& cpus = node.tasks[task].cpus;
        ASSERT_FALSE(cpus.empty());
        ASSERT_TRUE(c.share.masks[task].contains(cpus)) << "widened";
        if (divided) {
            ASSERT_FALSE(taken.intersects(cpus)) << "two tasks on one CPU";
            ASSERT_GE(cpus.count(), at_least);
            taken |= cpus;
        } else {
            ASSERT_EQ(cpus, c.share.masks[task]);
        }
    }
}

void check_gpus(const Case& c, const NodeBinding& node) {
    std::vector<std::uint32_t> gpus = c.share.gpus;
    std::sort(gpus.begin(), gpus.end());
    std::vector<std::uint32_t> order = node.gpu_order;
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order, gpus);
    const std::size_t tasks = node.tasks.size();
    std::vector<std::uint32_t> used;
    for (std::size_t task = 0; task < tasks; ++task) {
        const auto& own = node.tasks[task].gpus;
        const std::size_t least = gpus.empty() ? 0 : std::max<std::size_t>(1, gpus.size() / tasks);
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

void check_optimum(const Case& c, const NodeBinding& node) {
    const auto& gpus = c.share.gpus;
    if (one_mask(c) || gpus.empty()) return;
    const auto& masks = c.share.masks;
    const bool gpus_are_dealt = masks.size() <= gpus.size();
    std::vector<std::vector<std::int64_t>> costs;
    for (std::size_t i = 0; i < std::max(masks.size(), gpus.size()); ++i) {
        auto& row = costs.emplace_back();
        for (std::size_t j = 0; j < std::min(masks.size(), gpus.size()); ++j) {
            row.push_back(mean_steps(c.topology, masks[gpus_are_dealt ? j : i],
                                     gpus[gpus_are_dealt ? i : j]));
        }
    }
    std::int64_t total = 0;
    for (std::size_t task = 0; task < masks.size(); ++task) {
        for (const std::uint32_t gpu : node.tasks[task].gpus) {
            total += mean_steps(c.topology, masks[task], gpu);
        }
    }
    ASSERT_EQ(total, brute_force(costs));
}

void check_ports(const Case& c, const NodeBinding& node) {
    const auto verdicts = port_verdicts(c.topology);
    for (const TaskBinding& task : node.tasks) {
        if (task.port) {
            ASSERT_TRUE(verdicts[task.port->hca][task.port->port].eligible);
            ASSERT_EQ(c.topology.hcas[task.port->hca].kind, HcaKind::verbs);
        }
        for (std::size_t hca = 0; hca < verdicts.size(); ++hca) {
            if (c.topology.hcas[hca].kind != HcaKind::verbs || task.gpus.empty()) continue;
            for (const PortVerdict& verdict : verdicts[hca]) {
                if (!verdict.eligible) continue;
                ASSERT_TRUE(task.port);
                ASSERT_LE(task.port_distance, c.topology.distances[task.gpus.front()][hca]);
            }
        }
    }
}

TEST(BindProperty, HoldsOnRandomMachines) {
    Dice dice(seed);
    for (int i = 0; i < machines; ++i) {
        SCOPED_TRACE(testing::Message() << "machine " << i << " of seed " << seed);
        Case c = random_case(dice);
        const NodeBinding node = bind(c.topology, c.policy, c.share);
        ASSERT_EQ(node.tasks.size(), c.share.masks.size());
        check_cpus(c, node);
        check_gpus(c, node);
        check_optimum(c, node);
        check_ports(c, node);
        dice.shuffle(c.share.gpus);
        ASSERT_EQ(bind(c.topology, c.policy, c.share), node) << "the order of the list matters";
        if (HasFatalFailure()) return;
    }
}

}  // namespace
}  // namespace distgpu
