// See simulated_rows.h. The rows are those of a review of the first edition, in its order.
#include "simulated_rows.h"

#include "simulated_paths.h"

#include <cmath>

namespace distgpu::scaling {
namespace {

using Kind = Limiter::Kind;
using Cluster = SimulatedCluster;
using Limiters = std::vector<Limiter>;
using Sizes = std::vector<std::uint32_t>;

Limiters first_nodes(std::uint32_t count) {
    Limiters limiters(count);
    for (std::uint32_t node = 0; node < count; ++node) limiters[node].node = node;
    return limiters;
}

auto nobody() {
    return [](std::uint32_t) { return Limiters{}; };
}
auto one(Limiter limiter) {
    return [limiter](std::uint32_t) { return Limiters{limiter}; };
}
auto nodes_at(std::vector<double> rates, double noise = 0.03) {
    return [=](std::uint32_t nodes, Random&) {
        return Cluster{.nodes = nodes, .noise = noise, .node = rates};
    };
}
// The first nodes, so many of all, at 0.8.
auto share_slow(double share) {
    return [=](std::uint32_t nodes, Random&) {
        const auto slow = static_cast<std::size_t>(share * nodes);
        return Cluster{.nodes = nodes, .node = std::vector<double>(slow, 0.8)};
    };
}
auto share_named(double share) {
    return
        [=](std::uint32_t nodes) { return first_nodes(static_cast<std::uint32_t>(share * nodes)); };
}

Cluster with_spread(std::uint32_t nodes, double spread, double noise, Random& random) {
    Cluster cluster{.nodes = nodes, .noise = noise};
    std::normal_distribution<double> rate(1, spread);
    for (std::uint32_t node = 0; node < nodes; ++node) cluster.node.push_back(rate(random));
    return cluster;
}

void add_single_faults(std::vector<SimulatedRow>& rows) {
    rows.push_back({"healthy, 3% noise", {3, 4, 8, 16, 64}, nodes_at({}), nobody()});
    rows.back().never_named = true;
    rows.push_back({"one node 10% slower", {4, 8, 32}, nodes_at({1, 0.9}), one({.node = 1})});
    rows.back().must_be_found = false;
    rows.push_back({"one node 12% slower", {4, 8, 32}, nodes_at({1, 0.88}), one({.node = 1})});
    rows.back().must_be_found = false;
    rows.push_back(
        {"one node 15% slower", {4, 8, 16, 32, 64}, nodes_at({1, 0.85}), one({.node = 1})});
    rows.push_back(
        {"one node 8% slower, 0.3% noise", {8, 32}, nodes_at({1, 0.92}, 0.003), one({.node = 1})});
    rows.back().must_be_found = false;
    rows.push_back({"two nodes 20% slower", {3}, nodes_at({0.8, 0.8}), share_named(0.7), true});
    rows.push_back({"two nodes 20% slower", {4}, nodes_at({0.8, 0.8}), share_named(0.5), true});
    rows.push_back({"two nodes 20% slower", {5, 6, 8, 16}, nodes_at({0.8, 0.8}), [](auto) {
                        return first_nodes(2);
                    }});
    rows.push_back({"one node 50%, another 15% slower", {8, 16}, nodes_at({0.5, 0.85}), [](auto) {
                        return first_nodes(2);
                    }});
    rows.push_back(
        {"a quarter of the nodes 20% slower", {8, 16, 32}, share_slow(0.25), share_named(0.25)});
    rows.push_back(
        {"40% of the nodes 20% slower", {8, 16, 32}, share_slow(0.4), share_named(0.4), true});
    rows.push_back({"two generations: 3/8 of the nodes 20% slower",
                    {8, 16},
                    share_slow(0.375),
                    nobody(),
                    true});
}

void add_rails(std::vector<SimulatedRow>& rows) {
    rows.push_back({"port of rail 3 of node 1 15% slower",
                    {8, 32},
                    [](auto nodes, Random&) {
                        return Cluster{.nodes = nodes, .ports = {{{1, 3}, 0.85}}};
                    },
                    one({.kind = Kind::node_rail, .node = 1, .local_rank = 3})});
    rows.push_back({"rail 3 15% slower on all nodes",
                    {8, 32},
                    [](auto nodes, Random&) {
                        return Cluster{.nodes = nodes, .rail = {{3, 0.85}}};
                    },
                    one({.kind = Kind::rail, .local_rank = 3})});
    rows.push_back({"node 5 15% slower inside",
                    {8, 32},
                    [](auto nodes, Random&) {
                        return Cluster{.nodes = nodes, .inside = {{5, 0.85}}};
                    },
                    one({.node = 5})});
    rows.push_back({"node 1 slow on rail 3, node 5 on rail 6, both 50%",
                    {8},
                    [](auto nodes, Random&) {
                        return Cluster{.nodes = nodes, .ports = {{{1, 3}, 0.5}, {{5, 6}, 0.5}}};
                    },
                    [](auto) {
                        return Limiters{{.kind = Kind::node_rail, .node = 1, .local_rank = 3},
                                        {.kind = Kind::node_rail, .node = 5, .local_rank = 6}};
                    }});
    rows.push_back(
        {"node 1 slow on rail 3, node 5 inside, both 50%",
         {8},
         [](auto nodes, Random&) {
             return Cluster{.nodes = nodes, .inside = {{5, 0.5}}, .ports = {{{1, 3}, 0.5}}};
         },
         [](auto) {
             return Limiters{{.kind = Kind::node_rail, .node = 1, .local_rank = 3}, {.node = 5}};
         }});
    rows.push_back({"node 5 slow inside, rail 2 15% slower on all nodes",
                    {8},
                    [](auto nodes, Random&) {
                        return Cluster{.nodes = nodes, .inside = {{5, 0.5}}, .rail = {{2, 0.85}}};
                    },
                    [](auto) {
                        return Limiters{{.node = 5}, {.kind = Kind::rail, .local_rank = 2}};
                    }});
}

void add_switches(std::vector<SimulatedRow>& rows) {
    const auto spine = one({.kind = Kind::spine});
    rows.push_back(
        {"two leaves, 50% between them", {4, 8, 16, 32}, with_path(across(0.5), 2), spine});
    rows.push_back(
        {"the same, switches unknown", {4, 8, 16, 32}, with_path(across(0.5), 2, false), spine});
    rows.push_back(
        {"four leaves, 85% between them", {16, 32, 64}, with_path(across(0.85), 4), spine});
    rows.push_back({"four leaves, uplink of one at 50%",
                    {16, 32, 64},
                    with_path(uplink(0.5), 4),
                    one({.kind = Kind::uplink})});
    rows.push_back({"four leaves, uplink of one at 85%",
                    {16, 32, 64},
                    with_path(uplink(0.85), 4),
                    one({.kind = Kind::uplink})});
    rows.push_back({"the uplink at 50%, switches unknown",
                    {16, 32, 64},
                    with_path(uplink(0.5), 4, false),
                    spine});
    rows.push_back({"four leaves, one at 85%",
                    {16, 32, 64},
                    with_path(whole_leaf(0.85), 4),
                    one({.kind = Kind::leaf})});
    rows.push_back({"all nodes but one on a leaf, 50% to it",
                    {4, 8, 16},
                    [](auto nodes, Random&) {
                        Cluster cluster{.nodes = nodes, .leaves = 2};
                        cluster.path = [=](Pair pair, double, std::uint32_t, Random&) {
                            return pair.second == nodes - 1 ? 0.5 : 1;
                        };
                        cluster.single_leaf = true;
                        return cluster;
                    },
                    nobody(),
                    true});
    rows.push_back({"two leaves, 2:1 uplinks that a round shares",
                    {8, 16, 32},
                    with_path(shared_uplinks(), 2),
                    spine,
                    false,
                    true});
}

// What is on switches must not be held against them.
void add_faults_on_switches(std::vector<SimulatedRow>& rows) {
    rows.push_back({"four leaves, one node 15% slower",
                    {16, 32, 64},
                    [](auto nodes, Random&) {
                        return Cluster{.nodes = nodes, .leaves = 4, .node = {1, 0.85}};
                    },
                    one({.node = 1})});
    rows.push_back({"four leaves, uplink of one at 50%, a node elsewhere at 70%",
                    {16, 32},
                    [](auto nodes, Random& random) {
                        auto cluster = with_path(uplink(0.5), 4)(nodes, random);
                        cluster.node.assign(nodes, 1);
                        cluster.node[nodes - 1] = 0.7;
                        return cluster;
                    },
                    [](std::uint32_t nodes) {
                        return Limiters{{.node = nodes - 1}, {.kind = Kind::uplink}};
                    }});
    rows.push_back(
        {"healthy, four leaves, 10% noise",
         {8, 16, 64},
         [](auto nodes, Random&) { return Cluster{.nodes = nodes, .noise = 0.1, .leaves = 4}; },
         nobody()});
    rows.back().never_named = true;
}

void add_paths(std::vector<SimulatedRow>& rows) {
    const auto paths = one({.kind = Kind::paths});
    const auto node_1 = one({.node = 1});
    rows.push_back({"ECMP: 25% of the matches at 50%", {4, 8, 16, 64}, with_path(ecmp(1)), paths});
    rows.push_back({"ECMP: 25% of the pairs at 50%", {4, 8, 16, 64}, same_pairs_collide, paths});
    rows.push_back({"ECMP: 25% of the matches, and node 1 at 70%",
                    {4, 8, 16},
                    with_path(ecmp(0.7)),
                    node_1,
                    false,
                    true});
    rows.push_back(
        {"node 1 at 40% in half of its matches", {4, 8, 16}, with_path(flapping(0.5)), node_1});
    rows.push_back(
        {"node 1 at 40% in 60% of its matches", {4, 8, 16}, with_path(flapping(0.6)), node_1});
    rows.push_back({"all lose 20% through the run", {4, 8, 32}, with_path(drift()), nobody()});
    rows.push_back({"node 1 falls from 100% to 60%",
                    {4, 8, 32},
                    with_path(thermal([](double t) { return 1 - 0.4 * t; })),
                    node_1});
    rows.push_back({"node 1 at 60% in the last 45% of the run",
                    {8, 32},
                    with_path(thermal([](double t) { return t > 0.55 ? 0.6 : 1; })),
                    node_1});
}

void add_noise(std::vector<SimulatedRow>& rows) {
    for (const double noise : {0.1, 0.2, 0.4}) {
        rows.push_back({"healthy, " + std::to_string(std::lround(100 * noise)) +
                            "% noise, 5% of the measurements at 30%",
                        {3, 4, 5, 8, 16},
                        [=](auto nodes, Random&) {
                            return Cluster{.nodes = nodes, .noise = noise, .disturbed = 0.05};
                        },
                        nobody(),
                        noise > 0.1,
                        true});
    }
    rows.push_back(
        {"healthy, nodes differ by 1%, 10% noise",
         {3, 4, 8, 16, 64},
         [](auto nodes, Random& random) { return with_spread(nodes, 0.01, 0.1, random); },
         nobody()});
    rows.back().never_named = true;
    rows.push_back(
        {"healthy, nodes differ by 4%, 1% noise",
         {4, 8, 16, 64},
         [](auto nodes, Random& random) { return with_spread(nodes, 0.04, 0.01, random); },
         nobody()});
}

}  // namespace

std::vector<SimulatedRow> simulated_rows() {
    std::vector<SimulatedRow> rows;
    add_single_faults(rows);
    add_rails(rows);
    add_switches(rows);
    add_faults_on_switches(rows);
    add_paths(rows);
    add_noise(rows);
    return rows;
}

}  // namespace distgpu::scaling
