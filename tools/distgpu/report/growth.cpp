// Finds memory that grows steadily. A program fills its memory when it starts, and caches level
// off: neither is a leak.
#include "base/format.h"
#include "report/findings.h"
#include "report/summary.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace distgpu {
namespace {

constexpr std::size_t parts = 8;
constexpr double hour = 3600;

// Shorter, it could be the first epoch.
constexpr double min_seconds = 600;

// Less is what an allocator rounds and what the runtime keeps.
constexpr double min_share = 0.02;
constexpr double min_bytes = 64.0 * (1U << 20U);

// In the last half as in the one before; an amount that levels off grows by less and less.
constexpr double min_steadiness = 0.5;

// Each part's mean. Precondition: they are equally long.
std::vector<double> part_means(std::span<const double> values) {
    std::vector<double> means;
    for (std::size_t i = 0; i < parts; ++i) {
        const auto part = values.subspan(i * values.size() / parts, values.size() / parts);
        means.push_back(std::accumulate(part.begin(), part.end(), 0.0) /
                        static_cast<double>(part.size()));
    }
    return means;
}

// Bytes a second, after the first quarter; nullopt if it does not grow from each part to the next.
std::optional<double> growth_of(const std::vector<double>& series, double interval) {
    auto values = std::span(series).subspan(series.size() / 4);
    values = values.last(values.size() - values.size() % parts);
    const double seconds = static_cast<double>(values.size()) * interval;
    if (values.size() < 2 * parts || seconds < min_seconds) return std::nullopt;
    const std::vector<double> means = part_means(values);
    if (std::ranges::adjacent_find(means, std::ranges::greater_equal()) != means.end()) {
        return std::nullopt;
    }
    const double growth = means.back() - means.front();
    const double first_half = means[parts / 2 - 1] - means.front();
    const double last_half = means.back() - means[parts / 2];
    if (growth < std::max(min_bytes, min_share * means.back()) ||
        last_half < min_steadiness * first_half) {
        return std::nullopt;
    }
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
        const auto growth = growth_of(each.gpu->memory_series, each.node->interval);
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

// Of the rank that grows fastest.
void add_ranks(const StepReport& report, ReportFindings& findings) {
    std::size_t count = 0;
    RankOnNode first;
    double rate = 0;
    for (const RankOnNode& each : ranks_of(report)) {
        const auto growth = growth_of(each.rank->memory_series, each.node->interval);
        if (!growth) continue;
        if (count++ > 0 && *growth <= rate) continue;
        first = each;
        rate = *growth;
    }
    if (count == 0) return;
    findings.push_back(
        {Weight::growth,
         formatted("memory of rank {} on {} grows by {}, to {} at its end{}", first.rank->rank,
                   first.node->node, rate_text(rate), bytes_text(first.rank->memory_series.back()),
                   and_others(count, "other rank"))});
}

}  // namespace

ReportFindings find_growth(const StepReport& report) {
    ReportFindings findings;
    add_gpus(report, findings);
    add_ranks(report, findings);
    return findings;
}

}  // namespace distgpu
