#include "report/summary.h"

#include "base/format.h"
#include "table.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace distgpu {
namespace {

// Three digits at most, none of them after the point from 10 on.
std::string short_number(double value) {
    return value < 9.95 ? formatted("{:.1f}", value) : formatted("{:.0f}", value);
}

}  // namespace

std::vector<GpuOnNode> gpus_of(const StepReport& report) {
    std::vector<GpuOnNode> gpus;
    for (const NodeReport& node : report.reports) {
        for (const GpuReport& gpu : node.gpus) gpus.push_back({&node, &gpu});
    }
    return gpus;
}

std::vector<RankOnNode> ranks_of(const StepReport& report) {
    std::vector<RankOnNode> ranks;
    for (const NodeReport& node : report.reports) {
        for (const RankReport& rank : node.ranks) ranks.push_back({&node, &rank});
    }
    std::ranges::stable_sort(ranks, {}, [](const RankOnNode& each) { return each.rank->rank; });
    return ranks;
}

bool is_measured(const GpuReport& gpu) {
    return !gpu.source.empty() && gpu.busy.samples() > 0;
}

std::optional<double> mean_busy(std::span<const GpuOnNode> gpus) {
    return mean_of(gpus, [](const GpuOnNode& each) {
        return is_measured(*each.gpu) ? std::optional(each.gpu->busy.mean()) : std::nullopt;
    });
}

std::vector<GpuOnNode> gpus_of(const RankOnNode& rank) {
    std::vector<GpuOnNode> gpus;
    for (const GpuReport& gpu : rank.node->gpus) {
        if (std::ranges::count(rank.rank->gpus, gpu.pci) > 0) gpus.push_back({rank.node, &gpu});
    }
    return gpus;
}

std::optional<double> mean_busy(const RankOnNode& rank) {
    return mean_busy(gpus_of(rank));
}

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

double began(const StepReport& report) {
    if (report.reports.empty()) return 0;
    return std::ranges::min_element(report.reports, {}, &NodeReport::began)->began;
}

double seconds_of(const StepReport& report) {
    double end = began(report);
    for (const NodeReport& node : report.reports) end = std::max(end, node.began + node.seconds);
    return end - began(report);
}

bool has_ended(const StepReport& report) {
    return std::ranges::all_of(report.reports, &NodeReport::is_complete);
}

std::string name_of(const GpuOnNode& gpu) {
    const std::string ranks = gpu.gpu->ranks.empty() ? "of no rank" : ranks_text(gpu.gpu->ranks);
    return formatted("GPU {} on {} ({})", gpu.gpu->pci, gpu.node->node, ranks);
}

std::string busy_text(double percent) {
    return formatted("{:.0f}%", percent);
}

std::string time_text(double seconds) {
    constexpr std::uint64_t minute = 60;
    constexpr std::uint64_t hour = 60 * minute;
    constexpr std::uint64_t day = 24 * hour;
    constexpr double longest = 1e15;  // a file may contain any number, and their sum may be none
    const auto whole =
        static_cast<std::uint64_t>(seconds > 0 ? std::min(std::round(seconds), longest) : 0);
    if (whole < 2 * minute) return formatted("{} s", whole);
    if (whole < hour) return formatted("{} min", whole / minute);
    if (whole < day) return formatted("{} h {} min", whole / hour, whole % hour / minute);
    return formatted("{} d {} h", whole / day, whole % day / hour);
}

std::string bytes_text(double bytes) {
    constexpr std::array<const char*, 5> units{"KiB", "MiB", "GiB", "TiB", "PiB"};
    constexpr double step = 1024;
    if (bytes < step) return formatted("{:.0f} B", bytes);
    std::size_t unit = 0;
    bytes /= step;
    // 1023.6 MiB would be shown as 1024.
    while (bytes >= step - 0.5 && unit + 1 < units.size()) {
        bytes /= step;
        ++unit;
    }
    return formatted("{} {}", short_number(bytes), units[unit]);
}

std::string energy_text(double joules) {
    constexpr double watt_hour = 3600;
    constexpr double kilo = 1000;
    const double watt_hours = joules / watt_hour;
    return watt_hours < kilo ? short_number(watt_hours) + " Wh"
                             : short_number(watt_hours / kilo) + " kWh";
}

std::string heading(const StepReport& report) {
    const std::string cluster = report.cluster.empty() ? "" : " on cluster " + report.cluster;
    const std::string spec = report.spec.empty() ? "" : formatted(" ({})", report.spec);
    return printable(formatted("step {}{}{}: {} on {}, {}", report.step, cluster, spec,
                               counted(ranks_of(report).size(), "rank"),
                               counted(report.nodes, "node"), time_text(seconds_of(report))));
}

std::vector<std::string> notes_of(const StepReport& report) {
    std::vector<std::pair<std::string, std::size_t>> counts;
    for (const NodeReport& node : report.reports) {
        for (const std::string& note : node.notes) {
            const auto known =
                std::ranges::find(counts, note, &std::pair<std::string, std::size_t>::first);
            if (known == counts.end()) {
                counts.emplace_back(note, 1);
            } else {
                ++known->second;
            }
        }
    }
    std::vector<std::string> notes;
    notes.reserve(counts.size());
    for (const auto& [note, count] : counts) {
        notes.push_back(printable(note) + (count > 1 ? formatted(" (on {} nodes)", count) : ""));
    }
    return notes;
}

std::string cost_text(const StepReport& report) {
    double cpu = 0;
    double seconds = 0;
    std::uint64_t memory = 0;
    for (const NodeReport& node : report.reports) {
        cpu += node.cost.cpu_seconds + node.cost.gpu_cpu_seconds;
        seconds += node.seconds;
        memory = std::max(memory, node.cost.memory_peak);
    }
    constexpr double percent = 100;
    return formatted("the report took {:.2f}% of a CPU per node and at most {}",
                     seconds > 0 ? percent * cpu / seconds : 0,
                     bytes_text(static_cast<double>(memory)));
}

}  // namespace distgpu
