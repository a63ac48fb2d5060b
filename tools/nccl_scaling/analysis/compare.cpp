// One way to judge: a baseline is a list of thresholds too.
#include "analysis/compare.h"

#include "analysis/bus_bandwidth.h"
#include "base/format.h"

#include <algorithm>
#include <utility>

namespace distgpu::scaling {

namespace {

bool has_thresholds(const Group& group) {
    return group.kind == Group::Kind::nodes || group.kind == Group::Kind::gpus;
}

bool applies(const Threshold& threshold, const Measurement& measurement, const Group& group) {
    return has_thresholds(group) && group.kind == threshold.group.value_or(group.kind) &&
           group.ranks == threshold.ranks && measurement.collective == threshold.collective &&
           measurement.bytes == threshold.bytes &&
           measurement.type == threshold.type.value_or(measurement.type) &&
           measurement.in_place == threshold.in_place.value_or(measurement.in_place);
}

using Fingerprint = std::vector<std::pair<std::string, std::string>>;

std::string value_of(const Fingerprint& fingerprint, const std::string& key) {
    const auto found = std::find_if(fingerprint.begin(), fingerprint.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    return found == fingerprint.end() ? "missing" : "'" + found->second + "'";
}

// Of the keys of either, in their order. Nothing: equal.
std::optional<std::string> first_difference(const Results& results, const Results& baseline) {
    auto fingerprint = results.fingerprint;
    auto other = baseline.fingerprint;
    fingerprint.emplace(fingerprint.begin(), "backend", results.backend);
    other.emplace(other.begin(), "backend", baseline.backend);
    auto keys = fingerprint;
    keys.insert(keys.end(), other.begin(), other.end());
    for (const auto& entry : keys) {
        const auto& key = entry.first;
        const auto here = value_of(fingerprint, key);
        const auto there = value_of(other, key);
        if (here != there) return formatted("{} is {} there, {} here", key, there, here);
    }
    return std::nullopt;
}

}  // namespace

Comparison compare(const Results& results, const std::vector<Threshold>& thresholds) {
    Comparison comparison;
    for (const auto& threshold : thresholds) {
        bool measured = false;
        for (std::size_t index = 0; index < results.measurements.size(); ++index) {
            const auto& measurement = results.measurements[index];
            if (!applies(threshold, measurement, results.groups[measurement.group])) continue;
            const auto bandwidth = bus_bandwidth(results, measurement);
            if (!bandwidth) continue;
            measured = true;
            if (*bandwidth >= threshold.bandwidth) {
                ++comparison.passed;
            } else {
                comparison.violations.push_back({index, *bandwidth, threshold});
            }
        }
        if (!measured) comparison.waived.push_back(threshold);
    }
    return comparison;
}

std::vector<Threshold> thresholds_of(const Results& baseline, double tolerance) {
    std::vector<Threshold> thresholds;
    thresholds.reserve(baseline.measurements.size());
    for (const auto& measurement : baseline.measurements) {
        const auto& group = baseline.groups[measurement.group];
        const auto bandwidth = bus_bandwidth(baseline, measurement);
        if (!has_thresholds(group) || !bandwidth) continue;
        thresholds.push_back({.collective = measurement.collective,
                              .bytes = measurement.bytes,
                              .ranks = group.ranks,
                              .bandwidth = (1 - tolerance) * *bandwidth,
                              .type = measurement.type,
                              .in_place = measurement.in_place,
                              .group = group.kind});
    }
    return thresholds;
}

Result<Comparison> compare_to_baseline(const Results& results, const Results& baseline,
                                       double tolerance, const std::string& baseline_name) {
    if (!(tolerance >= 0 && tolerance <= 1)) {
        return Error{.object = "tolerance",
                     .problem = formatted("{} is not between 0 and 1", tolerance),
                     .remedy = "0.05 lets each bus bandwidth be 5% lower"};
    }
    if (const auto difference = first_difference(results, baseline)) {
        return Error{.object = "baseline " + baseline_name,
                     .problem = *difference,
                     .remedy = "compare with a run of the same kind, or save one with --json"};
    }
    return compare(results, thresholds_of(baseline, tolerance));
}

}  // namespace distgpu::scaling
