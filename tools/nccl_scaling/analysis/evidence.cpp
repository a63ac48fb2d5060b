// Picks the measurements that tell nodes and rails apart.
#include "analysis/evidence.h"

#include "analysis/bus_bandwidth.h"
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
    return evidence;
}

}  // namespace distgpu::scaling
