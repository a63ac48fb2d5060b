// Picks the measurements that tell nodes and rails apart.
#include "analysis/evidence.h"

#include "analysis/bus_bandwidth.h"
#include "analysis/statistics.h"
#include "analysis/subject.h"

#include <algorithm>
#include <optional>

namespace distgpu::scaling {

namespace {

// What the groups of this kind were measured with; see evidence_of().
std::optional<Subject> main_subject(const Results& results, Group::Kind kind) {
    std::optional<Subject> found;
    for (const auto& measurement : results.measurements) {
        if (results.groups[measurement.group].kind != kind) continue;
        if (!found || measurement.bytes > found->bytes) found = subject_of(measurement);
    }
    return found;
}

// Calls `use` with the group and bus bandwidth of each measurement of this subject.
template <class Use>
void for_each_of(const Results& results, Group::Kind kind, const std::optional<Subject>& subject,
                 Use use) {
    for (const auto& measurement : results.measurements) {
        const auto& group = results.groups[measurement.group];
        if (group.kind != kind || subject_of(measurement) != subject) continue;
        if (const auto bandwidth = bus_bandwidth(results, measurement)) use(group, *bandwidth);
    }
}

// Of the group of all nodes; nothing: not measured with this subject.
std::optional<double> world_bandwidth(const Results& results,
                                      const std::optional<Subject>& subject) {
    std::vector<double> bandwidths;
    for_each_of(results, Group::Kind::nodes, subject, [&](const Group& group, double bandwidth) {
        if (group.nodes.size() == results.nodes.size()) bandwidths.push_back(bandwidth);
    });
    return bandwidths.empty() ? std::nullopt : std::optional(median(std::move(bandwidths)));
}

}  // namespace

Evidence evidence_of(const Results& results) {
    Evidence evidence;
    const auto match = main_subject(results, Group::Kind::pair);
    if (match) evidence.match_bytes = match->bytes;
    for_each_of(results, Group::Kind::pair, match, [&](const Group& group, double bandwidth) {
        const auto [low, high] = std::minmax(group.nodes[0], group.nodes[1]);
        evidence.matches.push_back(
            {.pair = {.first = low, .second = high}, .bandwidth = bandwidth});
    });
    for_each_of(results, Group::Kind::rail, main_subject(results, Group::Kind::rail),
                [&](const Group& group, double bandwidth) {
                    evidence.rails.push_back({.local_rank = group.number, .bandwidth = bandwidth});
                });
    const auto without = main_subject(results, Group::Kind::without);
    const auto world = world_bandwidth(results, without);
    if (!world) return evidence;
    for_each_of(results, Group::Kind::without, without, [&](const Group& group, double bandwidth) {
        evidence.left_out.push_back({.node = group.number, .gain = bandwidth / *world});
    });
    return evidence;
}

}  // namespace distgpu::scaling
