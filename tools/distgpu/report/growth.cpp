// Finds memory that grows steadily. A program fills its memory when it starts, and caches level
// off: neither is a leak.
#include "base/format.h"
#include "report/findings.h"
#include "report/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace distgpu {
namespace {

constexpr double hour = 3600;

// Less is what an allocator rounds and what the runtime keeps.
constexpr double min_bytes = 64.0 * (1U << 20U);

// In the last half as in the one before; an amount that levels off grows by less and less.
constexpr double min_steadiness = 0.5;

// From when on it is no coincidence.
struct Evidence {
    std::size_t parts;   // from each to the next it grows
    double min_seconds;  // shorter, it could be the first epoch
    double min_share;
};
constexpr Evidence usual{8, 600, 0.02};

// Of a rank among others that do the same and do not grow: that is not the first epoch's.
constexpr Evidence among_others{4, 30, 0.1};

// Each part's mean. Precondition: they are equally long.
std::vector<double> part_means(std::span<const double> values, std::size_t parts) {
    std::vector<double> means;
    for (std::size_t i = 0; i < parts; ++i) {
        const auto part = values.subspan(i * values.size() / parts, values.size() / parts);
        means.push_back(std::accumulate(part.begin(), part.end(), 0.0) /
                        static_cast<double>(part.size()));
    }
    return means;
}

// Bytes a second, after the first quarter and `start`; nullopt if it does not grow from each part
// to the next.
std::optional<double> growth_of(const std::vector<double>& series, double interval,
                                const Evidence& needed, double start = 0) {
    const auto first = static_cast<std::size_t>(
        std::clamp(std::ceil(start / interval), 0.0, static_cast<double>(series.size())));
    auto values = std::span(series).subspan(std::max(first, series.size() / 4));
    values = values.last(values.size() - values.size() % needed.parts);
    const double seconds = static_cast<double>(values.size()) * interval;
    if (values.size() < 2 * needed.parts || seconds < needed.min_seconds) return std::nullopt;
    const std::vector<double> means = part_means(values, needed.parts);
    if (std::ranges::adjacent_find(means, std::ranges::greater_equal()) != means.end()) {
        return std::nullopt;
    }
    const double growth = means.back() - means.front();
    const double first_half = means[needed.parts / 2 - 1] - means.front();
    const double last_half = means.back() - means[needed.parts / 2];
    if (growth < std::max(min_bytes, needed.min_share * means.back()) ||
        last_half < min_steadiness * first_half) {
        return std::nullopt;
    }
    const auto parts = static_cast<double>(needed.parts);
    return growth * parts / (parts - 1) / seconds;
}

std::string rate_text(double bytes_per_second) {
    return bytes_text(bytes_per_second * hour) + " an hour";
}

std::string and_others(std::size_t count, std::string_view noun) {
    return count > 1 ? formatted(", and that of {}", counted(count - 1, noun)) : "";
}

// Of the GPU that is full first.
void add_gpus(const StepReport& report, ReportFindings& findings) {
    std::size_t count = 0;
    GpuOnNode first;
    double rate = 0;
    double left = 0;  // seconds until it is full; infinite if its size is not known
    for (const GpuOnNode& each : gpus_of(report)) {
        const auto growth = growth_of(each.gpu->memory_series, each.node->interval, usual);
        if (!growth) continue;
        const auto total = static_cast<double>(each.gpu->memory_total);
        const double until_full =
            total > 0 ? std::max((total - each.gpu->memory_series.back()) / *growth, 0.0)
                      : std::numeric_limits<double>::infinity();
        if (count++ > 0 && until_full >= left) continue;
        first = each;
        rate = *growth;
        left = until_full;
    }
    if (count == 0) return;
    std::string text = formatted("memory of {} grows by {}", name_of(first), rate_text(rate));
    if (first.gpu->memory_total > 0) {
        text +=
            formatted(", full ({}) {} later",
                      bytes_text(static_cast<double>(first.gpu->memory_total)), time_text(left));
    }
    findings.push_back({Weight::growth, text + and_others(count, "other GPU")});
}

struct Growing {
    RankOnNode rank;
    double rate = 0;
};

// If only few ranks grow, it shows early, as soon as their GPUs work.
std::vector<Growing> growing_ranks(const std::vector<RankOnNode>& ranks) {
    std::vector<Growing> long_ones;
    std::vector<Growing> early_ones;
    for (const RankOnNode& each : ranks) {
        const std::vector<double>& series = each.rank->memory_series;
        const double interval = each.node->interval;
        if (const auto rate = growth_of(series, interval, usual))
            long_ones.push_back({each, *rate});
        if (!each.rank->first_gpu) continue;
        const auto rate = growth_of(series, interval, among_others, *each.rank->first_gpu);
        if (rate) early_ones.push_back({each, *rate});
    }
    const bool are_few = 2 * early_ones.size() <= ranks.size();
    return long_ones.empty() && are_few ? early_ones : long_ones;
}

// Of the rank that grows fastest.
void add_ranks(const StepReport& report, ReportFindings& findings) {
    const auto growing = growing_ranks(ranks_of(report));
    if (growing.empty()) return;
    const auto& [first, rate] = *std::ranges::max_element(growing, {}, &Growing::rate);
    findings.push_back(
        {Weight::growth,
         formatted("memory of rank {} on {} grows by {}, to {} at its end{}", first.rank->rank,
                   first.node->node, rate_text(rate), bytes_text(first.rank->memory_series.back()),
                   and_others(growing.size(), "other rank"))});
}

}  // namespace

ReportFindings find_growth(const StepReport& report) {
    ReportFindings findings;
    add_gpus(report, findings);
    add_ranks(report, findings);
    return findings;
}

}  // namespace distgpu
