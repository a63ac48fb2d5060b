// The cases of a review of the first version, in its order.
#include "simulated_cluster.h"

#include <cmath>
#include <cstddef>

namespace distgpu::scaling {
namespace {

using Kind = Limiter::Kind;
using Cluster = SimulatedCluster;
using Limiters = std::vector<Limiter>;
using Sizes = std::vector<std::uint32_t>;
using Change = std::function<void(Cluster&, Random&)>;  // adds a fault to a cluster
using Expected = std::function<Limiters(std::uint32_t nodes)>;
using Path = std::function<double(const Cluster&, Pair, double, std::uint32_t, Random&)>;

Change both(Change one, Change other) {
    return [=](Cluster& cluster, Random& random) {
        one(cluster, random);
        other(cluster, random);
    };
}
Change noise(double sigma, double disturbed = 0) {
    return [=](Cluster& cluster, Random&) {
        cluster.noise = sigma;
        cluster.disturbed = disturbed;
    };
}
// As on a machine whose ranks share too few CPUs.
Change factor(double factor) {
    return [=](Cluster& cluster, Random&) { cluster.factor = factor; };
}
// As with a link whose average rate is limited: it sends faster after a pause.
Change bursting(double share) {
    return [=](Cluster& cluster, Random&) { cluster.bursting = share; };
}
Change rates(std::vector<double> node) {
    return [=](Cluster& cluster, Random&) { cluster.node = node; };
}
// The first `share` of the nodes, at 0.8.
Change share_slow(double share) {
    return [=](Cluster& cluster, Random&) {
        cluster.node.assign(static_cast<std::size_t>(share * cluster.nodes), 0.8);
    };
}
// Healthy nodes that differ.
Change spread(double sigma) {
    return [=](Cluster& cluster, Random& random) {
        std::normal_distribution<double> rate(1, sigma);
        for (std::uint32_t node = 0; node < cluster.nodes; ++node) {
            cluster.node.push_back(rate(random));
        }
    };
}
Change last_node(double rate) {
    return [=](Cluster& cluster, Random&) {
        cluster.node.assign(cluster.nodes, 1);
        cluster.node.back() = rate;
    };
}
Change port(std::uint32_t node, std::uint32_t rail, double rate) {
    return [=](Cluster& cluster, Random&) { cluster.ports[{node, rail}] = rate; };
}
Change rail(std::uint32_t number, double rate) {
    return [=](Cluster& cluster, Random&) { cluster.rail[number] = rate; };
}
Change inside(std::uint32_t node, double rate) {
    return [=](Cluster& cluster, Random&) { cluster.inside[node] = rate; };
}
Change leaves(std::uint32_t count, bool known = true) {
    return [=](Cluster& cluster, Random&) {
        cluster.leaves = count;
        cluster.switches_known = known;
    };
}
Change path(Path path) {
    return [=](Cluster& cluster, Random&) {
        cluster.path = [=, plain = cluster](Pair pair, double moment, std::uint32_t crossing,
                                            Random& random) {
            return path(plain, pair, moment, crossing, random);
        };
    };
}

bool contains(Pair pair, std::uint32_t node) {
    return pair.first == node || pair.second == node;
}

// Slow traffic on switches: between them, leaving the first one, and all traffic of its nodes.
Change between_switches(double rate) {
    return path([=](const Cluster& cluster, Pair pair, double, std::uint32_t, Random&) {
        return cluster.crosses(pair) ? rate : 1;
    });
}
Change uplink(double rate) {
    return path([=](const Cluster& cluster, Pair pair, double, std::uint32_t, Random&) {
        return (cluster.leaf_of(pair.first) == 0) != (cluster.leaf_of(pair.second) == 0) ? rate : 1;
    });
}
Change whole_leaf(double rate) {
    return path([=](const Cluster& cluster, Pair pair, double, std::uint32_t, Random&) {
        return cluster.leaf_of(pair.first) == 0 || cluster.leaf_of(pair.second) == 0 ? rate : 1;
    });
}
// Traffic between switches shares links that suffice for half of the node pairs.
Change shared_uplinks() {
    return path([](const Cluster& cluster, Pair pair, double, std::uint32_t crossing, Random&) {
        return cluster.crosses(pair) ? cluster.nodes / 4.0 / crossing : 1;
    });
}
Change single_leaf() {
    return [](Cluster& cluster, Random& random) {
        leaves(2)(cluster, random);
        path([](const Cluster& all, Pair pair, double, std::uint32_t, Random&) {
            return pair.second == all.nodes - 1 ? 0.5 : 1;
        })(cluster, random);
        cluster.single_leaf = true;
    };
}

// Collisions in a quarter of the matches; `node_1`: the rate of node 1.
Change ecmp(double node_1) {
    return path([=](const Cluster&, Pair pair, double, std::uint32_t, Random& random) {
        return (uniform(random) < 0.25 ? 0.5 : 1) * (contains(pair, 1) ? node_1 : 1);
    });
}
Change flapping(double share) {
    return path([=](const Cluster&, Pair pair, double, std::uint32_t, Random& random) {
        return contains(pair, 1) && uniform(random) < share ? 0.4 : 1;
    });
}
// As with a link that drops packets: each match has a different rate.
Change uneven(double least, double most) {
    return path([=](const Cluster&, Pair pair, double, std::uint32_t, Random& random) {
        return contains(pair, 1) ? least + (most - least) * uniform(random) : 1;
    });
}
Change thermal(std::function<double(double)> of_moment) {
    return path([=](const Cluster&, Pair pair, double moment, std::uint32_t, Random&) {
        return contains(pair, 1) ? of_moment(moment) : 1;
    });
}
Change drift() {
    return path([](const Cluster&, Pair, double moment, std::uint32_t, Random&) {
        return 1 - 0.2 * moment;
    });
}
// A quarter of the pairs, in each of their matches.
void same_pairs_collide(Cluster& cluster, Random& random) {
    std::vector<Pair> pairs;
    for (std::uint32_t second = 1; second < cluster.nodes; ++second) {
        for (std::uint32_t first = 0; first < second; ++first) pairs.push_back({first, second});
    }
    std::shuffle(pairs.begin(), pairs.end(), random);
    pairs.resize((pairs.size() + 2) / 4);
    const std::set<Pair> collide(pairs.begin(), pairs.end());
    cluster.path = [=](Pair pair, double, std::uint32_t, Random&) {
        return collide.count(pair) != 0 ? 0.5 : 1;
    };
}

// The correct limiters.
Expected limiters_are(Limiters limiters) {
    return [=](std::uint32_t) { return limiters; };
}
const Expected no_limiter = limiters_are({});
const Expected node_1 = limiters_are({{.node = 1}});
const Expected node_5 = limiters_are({{.node = 5}});
const Expected spine = limiters_are({{.kind = Kind::spine}});
const Expected first_uplink = limiters_are({{.kind = Kind::uplink}});
const Expected colliding = limiters_are({{.kind = Kind::paths}});
Expected first_nodes(double share) {
    return [=](std::uint32_t nodes) {
        Limiters limiters(static_cast<std::size_t>(share * nodes));
        for (std::uint32_t node = 0; node < limiters.size(); ++node) limiters[node].node = node;
        return limiters;
    };
}
const Expected first_two = limiters_are({{.node = 0}, {.node = 1}});
Limiter port_at(std::uint32_t node, std::uint32_t local_rank) {
    return {.kind = Kind::node_rail, .node = node, .local_rank = local_rank};
}
Limiter rail_at(std::uint32_t local_rank) {
    return {.kind = Kind::rail, .local_rank = local_rank};
}

enum class Tolerance : std::uint8_t {
    none,
    may_be_undecided,
    may_name_paths,
    may_be_missed,
    never_named
};

class Cases {
  public:
    void add_case(const std::string& about, const Sizes& sizes, const Change& change,
                  const Expected& expected, Tolerance tolerance = Tolerance::none) {
        const auto cluster = [=](std::uint32_t nodes, Random& random) {
            Cluster made{.nodes = nodes};
            change(made, random);
            return made;
        };
        cases.push_back({about, sizes, cluster, expected, tolerance == Tolerance::may_be_undecided,
                         tolerance == Tolerance::may_name_paths,
                         tolerance != Tolerance::may_be_missed,
                         tolerance == Tolerance::never_named});
    }
    std::vector<SimulatedCase> cases;
};

void add_parts(Cases& all) {
    all.add_case("healthy, 3% noise", {3, 4, 8, 16, 64}, rates({}), no_limiter,
                 Tolerance::never_named);
    all.add_case("one node 10% slower", {4, 8, 32}, rates({1, 0.9}), node_1,
                 Tolerance::may_be_missed);
    all.add_case("one node 12% slower", {4, 8, 32}, rates({1, 0.88}), node_1,
                 Tolerance::may_be_missed);
    all.add_case("one node 15% slower", {4, 8, 16, 32, 64}, rates({1, 0.85}), node_1);
    all.add_case("one node 8% slower, 0.3% noise", {8, 32}, both(rates({1, 0.92}), noise(0.003)),
                 node_1, Tolerance::may_be_missed);
    all.add_case("two nodes 20% slower", {3, 4}, rates({0.8, 0.8}), first_two,
                 Tolerance::may_be_undecided);
    all.add_case("two nodes 20% slower", {5, 6, 8, 16}, rates({0.8, 0.8}), first_two);
    all.add_case("one node 50%, another 15% slower", {8, 16}, rates({0.5, 0.85}), first_two);
    all.add_case("a quarter of the nodes 20% slower", {8, 16, 32}, share_slow(0.25),
                 first_nodes(0.25));
    all.add_case("40% of the nodes 20% slower", {8, 16, 32}, share_slow(0.4), first_nodes(0.4),
                 Tolerance::may_be_undecided);
    all.add_case("two generations: 3/8 of the nodes 20% slower", {8, 16}, share_slow(0.375),
                 no_limiter, Tolerance::may_be_undecided);
    all.add_case("port of rail 3 of node 1 15% slower", {8, 32}, port(1, 3, 0.85),
                 limiters_are({port_at(1, 3)}));
    all.add_case("rail 3 15% slower on all nodes", {8, 32}, rail(3, 0.85),
                 limiters_are({rail_at(3)}));
    all.add_case("node 5 15% slower inside", {8, 32}, inside(5, 0.85), node_5);
    all.add_case("node 1 slow on rail 3, node 5 on rail 6, both 50%", {8},
                 both(port(1, 3, 0.5), port(5, 6, 0.5)),
                 limiters_are({port_at(1, 3), port_at(5, 6)}));
    all.add_case("node 1 slow on rail 3, node 5 inside, both 50%", {8},
                 both(port(1, 3, 0.5), inside(5, 0.5)), limiters_are({port_at(1, 3), {.node = 5}}));
    all.add_case("node 5 slow inside, rail 2 15% slower on all nodes", {8},
                 both(inside(5, 0.5), rail(2, 0.85)), limiters_are({{.node = 5}, rail_at(2)}));
}

void add_switches(Cases& all) {
    const Sizes large{16, 32, 64};
    all.add_case("two leaves, 50% between them", {4, 8, 16, 32},
                 both(leaves(2), between_switches(0.5)), spine);
    all.add_case("the same, switches unknown", {4, 8, 16, 32},
                 both(leaves(2, false), between_switches(0.5)), spine);
    all.add_case("four leaves, 85% between them", large, both(leaves(4), between_switches(0.85)),
                 spine);
    all.add_case("four leaves, uplink of one at 50%", large, both(leaves(4), uplink(0.5)),
                 first_uplink);
    all.add_case("four leaves, uplink of one at 85%", large, both(leaves(4), uplink(0.85)),
                 first_uplink);
    all.add_case("the uplink at 50%, switches unknown", large, both(leaves(4, false), uplink(0.5)),
                 spine);
    all.add_case("four leaves, one at 85%", large, both(leaves(4), whole_leaf(0.85)),
                 limiters_are({{.kind = Kind::leaf}}));
    all.add_case("all nodes but one on a leaf, 50% to it", {4, 8, 16}, single_leaf(), no_limiter,
                 Tolerance::may_be_undecided);
    all.add_case("two leaves, 2:1 uplinks that a round shares", {8, 16, 32},
                 both(leaves(2), shared_uplinks()), spine, Tolerance::may_name_paths);
    // Faults of nodes must not be attributed to their switches.
    all.add_case("four leaves, one node 15% slower", large, both(leaves(4), rates({1, 0.85})),
                 node_1);
    all.add_case("four leaves, uplink of one at 50%, a node elsewhere at 70%", {16, 32},
                 both(both(leaves(4), uplink(0.5)), last_node(0.7)), [](std::uint32_t nodes) {
                     return Limiters{{.node = nodes - 1}, {.kind = Kind::uplink}};
                 });
    all.add_case("healthy, four leaves, 10% noise", {8, 16, 64}, both(leaves(4), noise(0.1)),
                 no_limiter, Tolerance::never_named);
}

void add_paths(Cases& all) {
    all.add_case("ECMP: 25% of the matches at 50%", {4, 8, 16, 64}, ecmp(1), colliding);
    all.add_case("ECMP: 25% of the pairs at 50%", {4, 8, 16, 64}, same_pairs_collide, colliding);
    all.add_case("ECMP: 25% of the matches, and node 1 at 70%", {4, 8, 16}, ecmp(0.7), node_1,
                 Tolerance::may_name_paths);
    all.add_case("node 1 at 40% in half of its matches", {4, 8, 16}, flapping(0.5), node_1);
    all.add_case("node 1 at 40% in 60% of its matches", {4, 8, 16}, flapping(0.6), node_1);
    all.add_case("all lose 20% through the run", {4, 8, 32}, drift(), no_limiter);
    all.add_case("node 1 falls from 100% to 60%", {4, 8, 32},
                 thermal([](double t) { return 1 - 0.4 * t; }), node_1);
    all.add_case("node 1 at 60% in the last 45% of the run", {8, 32},
                 thermal([](double t) { return t > 0.55 ? 0.6 : 1; }), node_1);
}

void add_noise(Cases& all) {
    for (const double sigma : {0.1, 0.2, 0.4}) {
        all.add_case("healthy, " + std::to_string(std::lround(100 * sigma)) +
                         "% noise, 5% of the measurements at 30%",
                     {3, 4, 5, 8, 16}, noise(sigma, 0.05), no_limiter);
        all.cases.back().may_be_undecided = sigma > 0.1;
        all.cases.back().may_name_paths = true;
    }
    for (const double slow : {0.1, 0.01}) {
        const auto about = std::to_string(std::lround(100 * slow));
        all.add_case("one node at " + about + "%, 10% noise", {4, 8, 16},
                     both(rates({1, slow}), noise(0.1)), node_1);
        all.add_case("one node at " + about + "%, noise of a factor of 2", {4, 8, 16},
                     both(rates({1, slow}), factor(2)), node_1);
    }
    all.add_case("one node at 10 to 16%, 0.3% noise", {4, 8, 16},
                 both(uneven(0.1, 0.16), noise(0.003)), node_1);
    all.add_case("the same, 10% of the measurements up to 3 times as fast", {4, 8, 16},
                 both(uneven(0.1, 0.16), both(noise(0.003), bursting(0.1))), node_1,
                 Tolerance::may_name_paths);
    all.add_case("healthy, 10% of the measurements up to 3 times as fast", {3, 4, 8, 16},
                 bursting(0.1), no_limiter, Tolerance::may_be_undecided);
    all.cases.back().may_name_paths = true;
    all.add_case("healthy, noise of a factor of 2", {3, 4, 8, 16}, factor(2), no_limiter,
                 Tolerance::may_be_undecided);
    all.cases.back().may_name_paths = true;
    all.add_case("healthy, nodes differ by 1%, 10% noise", {3, 4, 8, 16, 64},
                 both(spread(0.01), noise(0.1)), no_limiter, Tolerance::never_named);
    all.add_case("healthy, nodes differ by 4%, 1% noise", {4, 8, 16, 64},
                 both(spread(0.04), noise(0.01)), no_limiter);
}

}  // namespace

std::vector<SimulatedCase> simulated_cases() {
    Cases all;
    add_parts(all);
    add_switches(all);
    add_paths(all);
    add_noise(all);
    return all.cases;
}

}  // namespace distgpu::scaling
