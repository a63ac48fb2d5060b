// Random layouts against a simulation that deals one task at a time.
#include "layout_testing.h"
#include "mapping/layout/step_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace distgpu {
namespace {

using Kind = Distribution::Kind;
using layout_testing::difference;
using layout_testing::hosts;
using layout_testing::Nodes;
using layout_testing::Random;

// Slurm's dealing: a round gives each node its share, full nodes are skipped.
Nodes deal(Nodes left, Distribution distribution) {
    auto a_round = UINT32_MAX;
    if (distribution.kind == Kind::cyclic) a_round = 1;
    if (distribution.kind == Kind::plane) a_round = distribution.plane_size;
    Nodes result;
    const auto total = std::accumulate(left.begin(), left.end(), std::size_t{0});
    while (result.size() < total) {
        for (std::uint32_t n = 0; n < left.size(); ++n) {
            for (std::uint32_t i = 0; i < a_round && left[n] > 0; ++i, --left[n]) {
                result.push_back(n);
            }
        }
    }
    return result;
}

// Tasks of each node, with equal neighbours.
Nodes random_counts(Random& random) {
    Nodes result;
    for (auto left = 1 + random.below(12); left > 0;) {
        const auto same = 1 + random.below(left);
        result.insert(result.end(), same, 1 + random.below(9));
        left -= same;
    }
    return result;
}

// Not always the shortest runs.
std::vector<TasksRun> runs_of(const Nodes& counts, Random& random) {
    std::vector<TasksRun> runs;
    for (const auto count : counts) {
        if (runs.empty() || runs.back().tasks != count || random.below(4) == 0) {
            runs.push_back({.tasks = count, .nodes = 1});
        } else {
            ++runs.back().nodes;
        }
    }
    return runs;
}

TEST(StepLayoutProperty, DistributionsMatchDealingOneByOne) {
    Random random;
    for (int round = 0; round < 1500; ++round) {
        const auto counts = random_counts(random);
        const auto runs = runs_of(counts, random);
        const std::vector<Distribution> kinds = {
            {.kind = Kind::block, .plane_size = 0},
            {.kind = Kind::cyclic, .plane_size = 0},
            {.kind = Kind::plane, .plane_size = 1 + random.below(10)}};
        for (const auto& kind : kinds) {
            const auto layout = StepLayout::distribute(hosts(counts.size()), runs, kind);
            ASSERT_TRUE(layout);
            ASSERT_EQ(difference(*layout, deal(counts, kind)), "") << "round " << round;
        }
    }
}

TEST(StepLayoutProperty, AssignmentsComeBack) {
    Random random;
    for (int round = 0; round < 1500; ++round) {
        const auto node_count = 1 + random.below(8);
        Nodes nodes(node_count);
        std::iota(nodes.begin(), nodes.end(), 0U);
        for (auto more = random.below(40); more > 0; --more) {
            const auto next = (nodes.back() + 1) % node_count;
            nodes.push_back(random.below(2) == 0 ? random.below(node_count) : next);
        }
        if (random.below(2) == 0) std::shuffle(nodes.begin(), nodes.end(), random.engine());
        const auto layout = StepLayout::from_assignment(hosts(node_count), nodes);
        ASSERT_TRUE(layout);
        ASSERT_EQ(difference(*layout, nodes), "") << "round " << round;
    }
}

void write_out(const TaskMapBlock& block, Nodes& nodes) {
    for (std::uint32_t r = 0; r < block.repeat; ++r) {
        for (std::uint32_t n = 0; n < block.nodes; ++n) {
            nodes.insert(nodes.end(), block.tasks_per_node, block.node + n);
        }
    }
}

TEST(StepLayoutProperty, MapsMatchTheirExpansion) {
    Random random;
    for (int round = 0; round < 1500; ++round) {
        const auto node_count = 1 + random.below(9);
        std::vector<TaskMapBlock> map = {{.node = 0,
                                          .nodes = node_count,
                                          .tasks_per_node = 1 + random.below(2),
                                          .repeat = 1 + random.below(2)}};
        for (auto more = random.below(8); more > 0; --more) {
            const auto node = random.below(node_count);
            map.push_back({.node = node,
                           .nodes = 1 + random.below(node_count - node),
                           .tasks_per_node = 1 + random.below(3),
                           .repeat = 1 + random.below(3)});
        }
        std::shuffle(map.begin(), map.end(), random.engine());
        Nodes expected;
        for (const auto& block : map) write_out(block, expected);
        const auto layout = StepLayout::from_task_map(hosts(node_count), map);
        ASSERT_TRUE(layout);
        ASSERT_EQ(difference(*layout, expected), "") << "round " << round;
    }
}

}  // namespace
}  // namespace distgpu
