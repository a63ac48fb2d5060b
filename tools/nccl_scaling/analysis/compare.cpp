// One way to judge: a baseline is a list of thresholds too.
#include "analysis/compare.h"

#include "analysis/bus_bandwidth.h"

#include <algorithm>
#include <utility>

namespace distgpu::scaling {

namespace {

bool applies(const Threshold& threshold, const Measurement& measurement, const Group& group) {
    return is_scaling_group(group) && group.kind == threshold.group.value_or(group.kind) &&
           group.ranks == threshold.ranks && measurement.collective == threshold.collective &&
           measurement.bytes == threshold.bytes &&
           measurement.type == threshold.type.value_or(measurement.type) &&
           measurement.op == threshold.op.value_or(measurement.op) &&
           measurement.in_place == threshold.in_place.value_or(measurement.in_place);
}

std::optional<std::string> value_of(const Fingerprint& fingerprint, const std::string& name) {
    const auto found = std::find_if(fingerprint.begin(), fingerprint.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    return found == fingerprint.end() ? std::nullopt : std::optional(found->second);
}

Fingerprint with_backend(const Results& results) {
    Fingerprint fingerprint{{"backend", results.backend}};
    fingerprint.insert(fingerprint.end(), results.fingerprint.begin(), results.fingerprint.end());
    return fingerprint;
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
        if (!is_scaling_group(group) || !bandwidth) continue;
        // A file may hold a measurement twice: the first counts.
        const bool is_known = std::any_of(
            thresholds.begin(), thresholds.end(),
            [&](const Threshold& threshold) { return applies(threshold, measurement, group); });
        if (is_known) continue;
        thresholds.push_back({.collective = measurement.collective,
                              .bytes = measurement.bytes,
                              .ranks = group.ranks,
                              .bandwidth = (1 - tolerance) * *bandwidth,
                              .type = measurement.type,
                              .in_place = measurement.in_place,
                              .group = group.kind,
                              .op = measurement.op});
    }
    return thresholds;
}

std::vector<Change> changes(const Results& before, const Results& after) {
    std::vector<Change> found;
    for (const Threshold& known : thresholds_of(before, 0)) {
        for (std::size_t index = 0; index < after.measurements.size(); ++index) {
            const auto& measurement = after.measurements[index];
            if (!applies(known, measurement, after.groups[measurement.group])) continue;
            const auto bandwidth = bus_bandwidth(after, measurement);
            if (bandwidth) found.push_back({index, known.bandwidth, *bandwidth});
        }
    }
    return found;
}

std::vector<Difference> differences(const Fingerprint& here, const Fingerprint& there) {
    std::vector<Difference> found;
    for (const auto& [name, value] : here) {
        const auto other = value_of(there, name);
        if (other != value) found.push_back({name, value, other});
    }
    for (const auto& [name, value] : there) {
        if (!value_of(here, name)) found.push_back({name, std::nullopt, value});
    }
    return found;
}

std::vector<Difference> differences(const Results& results, const Results& baseline) {
    return differences(with_backend(results), with_backend(baseline));
}

}  // namespace distgpu::scaling
