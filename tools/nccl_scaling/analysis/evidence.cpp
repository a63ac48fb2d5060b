// Picks the measurements that tell what is slow.
#include "analysis/evidence.h"

#include "analysis/bus_bandwidth.h"
#include "analysis/statistics.h"
#include "analysis/subject.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace distgpu::scaling {

namespace {

bool is_pair(const Group& group) {
    return group.kind == Group::Kind::pair;
}
bool is_rail(const Group& group) {
    return group.kind == Group::Kind::rail;
}
bool is_node(const Group& group) {
    return group.kind == Group::Kind::node;
}
bool is_pair_rail(const Group& group) {
    return group.kind == Group::Kind::pair_rail;
}

// What these groups were measured with; see evidence_of().
template <class Is>
std::optional<Subject> main_subject(const Results& results, Is is) {
    std::optional<Subject> found;
    for (const auto& measurement : results.measurements) {
        if (!is(results.groups[measurement.group])) continue;
        if (!found || measurement.bytes > found->bytes) found = subject_of(measurement);
    }
    return found;
}

// Calls `use` with the group and bus bandwidth of each measurement of this subject. Whatever a
// file says, the quotient of two is a number.
template <class Is, class Use>
void for_each_of(const Results& results, Is is, const std::optional<Subject>& subject, Use use) {
    constexpr double least = 1e-6;
    constexpr double most = 1e18;
    for (const auto& measurement : results.measurements) {
        const auto& group = results.groups[measurement.group];
        if (!is(group) || subject_of(measurement) != subject) continue;
        const auto bandwidth = bus_bandwidth(results, measurement);
        if (bandwidth && *bandwidth >= least && *bandwidth <= most) use(group, *bandwidth);
    }
}

// A round ends where a node would play twice.
void number_rounds(std::vector<Evidence::Match>& matches) {
    std::set<std::uint32_t> playing;
    std::uint32_t round = 0;
    for (auto& match : matches) {
        if (playing.count(match.pair.first) + playing.count(match.pair.second) > 0) {
            ++round;
            playing.clear();
        }
        playing.insert({match.pair.first, match.pair.second});
        match.round = round;
    }
}

void add_matches(Evidence& evidence, const Results& results) {
    const auto subject = main_subject(results, is_pair);
    if (!subject) return;
    for_each_of(results, is_pair, subject, [&](const Group& group, double bandwidth) {
        evidence.matches.push_back(
            {.pair = pair_of(group.nodes[0], group.nodes[1]), .bandwidth = bandwidth});
    });
    number_rounds(evidence.matches);
    std::vector<double> together;
    const auto is_all = [&](const Group& group) { return is_world(results, group); };
    for_each_of(results, is_all, subject,
                [&](const Group&, double bandwidth) { together.push_back(bandwidth); });
    if (!together.empty()) evidence.all_nodes = median(std::move(together));
}

void add_rails_and_nodes(Evidence& evidence, const Results& results) {
    for_each_of(results, is_rail, main_subject(results, is_rail),
                [&](const Group& group, double bandwidth) {
                    evidence.rails.push_back({.local_rank = group.number, .bandwidth = bandwidth});
                });
    for_each_of(results, is_node, main_subject(results, is_node),
                [&](const Group& group, double bandwidth) {
                    evidence.alone.push_back({.node = group.nodes[0], .bandwidth = bandwidth});
                });
    for_each_of(results, is_pair_rail, main_subject(results, is_pair_rail),
                [&](const Group& group, double bandwidth) {
                    evidence.pair_rails.push_back({.pair = pair_of(group.nodes[0], group.nodes[1]),
                                                   .local_rank = group.number,
                                                   .bandwidth = bandwidth});
                });
}

}  // namespace

Evidence evidence_of(const Results& results) {
    Evidence evidence;
    add_matches(evidence, results);
    add_rails_and_nodes(evidence, results);
    std::transform(results.nodes.begin(), results.nodes.end(), std::back_inserter(evidence.leaves),
                   [](const Node& node) { return leaf_of(node); });
    return evidence;
}

}  // namespace distgpu::scaling
