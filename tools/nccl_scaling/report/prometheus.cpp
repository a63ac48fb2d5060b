// The results for node_exporter's textfile collector: Prometheus' text format 0.0.4. Only what a
// graph over weeks is made of: the largest size of each collective, not all sizes.
#include "analysis/bus_bandwidth.h"
#include "analysis/subject.h"
#include "base/format.h"
#include "report/formats.h"
#include "report/names.h"
#include "report/words.h"

#include <algorithm>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

namespace distgpu::scaling {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

struct Sample {
    Labels labels;
    double value = 0;
};

std::string escaped(std::string_view text) {
    std::string value;
    for (const char c : text) {
        if (c == '\\' || c == '"') value += '\\';
        value += c == '\n' ? "\\n" : std::string(1, c);
    }
    return value;
}

std::string text_of(const Labels& labels) {
    std::vector<std::string> items;
    items.reserve(labels.size());
    for (const auto& [name, value] : labels) {
        items.push_back(formatted("{}=\"{}\"", name, escaped(value)));
    }
    return labels.empty() ? "" : "{" + join(items, ",") + "}";
}

// Empty without samples.
std::string gauge(std::string_view name, std::string_view help,
                  const std::vector<Sample>& samples) {
    if (samples.empty()) return "";
    std::string text =
        formatted("# HELP nccl_scaling_{0} {1}\n# TYPE nccl_scaling_{0} gauge\n", name, help);
    for (const auto& [labels, value] : samples) {
        text += formatted("nccl_scaling_{}{} {}\n", name, text_of(labels), value);
    }
    return text;
}

// Of the groups of GPUs and nodes, what no larger size was measured of.
std::vector<Sample> bandwidths(const Results& results) {
    std::vector<Sample> samples;
    for (const Measurement& one : results.measurements) {
        const Group& group = results.groups[one.group];
        const auto bandwidth = bus_bandwidth(results, one);
        if (!is_scaling_group(group) || !bandwidth) continue;
        const bool smaller =
            std::any_of(results.measurements.begin(), results.measurements.end(),
                        [&](const Measurement& other) {
                            return other.group == one.group && other.bytes > one.bytes &&
                                   differ_only_in_size(subject_of(other), subject_of(one));
                        });
        if (smaller) continue;
        samples.push_back({{{"collective", std::string(row_of(one.collective).name)},
                            {"op", std::string(op_name(one.collective, one.op))},
                            {"type", std::string(row_of(one.type).name)},
                            {"in_place", formatted("{}", one.in_place)},
                            {"bytes", std::to_string(one.bytes)},
                            {"group", group_label(results, group)},
                            {"ranks", std::to_string(group.ranks)}},
                           *bandwidth});
    }
    return samples;
}

std::vector<Sample> efficiencies(const std::vector<EfficiencyCurve>& curves) {
    std::vector<Sample> samples;
    for (const EfficiencyCurve& curve : curves) {
        for (const auto& [nodes, efficiency] : curve.points) {
            samples.push_back(
                {{{"kind", std::string(words::word_of(words::efficiency_kinds, curve.kind))},
                  {"of", curve.subject},
                  {"nodes", std::to_string(nodes)}},
                 efficiency});
        }
    }
    return samples;
}

std::vector<Sample> slow_parts(const std::vector<SlowPart>& parts) {
    std::vector<Sample> samples;
    samples.reserve(parts.size());
    for (const SlowPart& part : parts) {
        samples.push_back({{{"name", part.name},
                            {"kind", std::string(words::word_of(words::limiter_kinds, part.kind))}},
                           part.relative});
    }
    return samples;
}

// Nothing: not a time.
std::vector<Sample> start_of(const std::string& started) {
    std::tm utc{};
    if (strptime(started.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc) == nullptr) return {};
    return {{{}, static_cast<double>(timegm(&utc))}};
}

}  // namespace

std::string to_prometheus(const ReportInput& input) {
    const Results& results = input.results;
    return gauge("start_time_seconds", "When the run started.", start_of(results.started)) +
           gauge("complete", "1: the run came to its end.",
                 {{{{"backend", results.backend}}, is_complete(input) ? 1.0 : 0.0}}) +
           gauge("nodes", "Nodes of the run.", {{{}, static_cast<double>(results.nodes.size())}}) +
           gauge("limiters", "How many nodes, ports and others the run names as its limiter.",
                 {{{}, static_cast<double>(input.limiters.size())}}) +
           gauge("bus_bandwidth_bytes_per_second", "Bus bandwidth at the largest size.",
                 bandwidths(results)) +
           gauge("efficiency_ratio", "How far from linear; 1 is linear.",
                 efficiencies(input.efficiency)) +
           gauge("slow_part_ratio", "What is slower than its peers, as a share of their median.",
                 slow_parts(input.slow_parts));
}

}  // namespace distgpu::scaling
