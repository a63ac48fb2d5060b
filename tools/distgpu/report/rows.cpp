#include "report/rows.h"

#include "base/format.h"
#include "report/summary.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace distgpu {
namespace {

using Number = std::optional<double>;

// The columns' texts of one row; a mean has texts of its own.
struct Entry {
    std::string name{};  // "0000:06:00.0", "12"
    std::string node{};
    std::string ranks{};  // of a GPU
    std::vector<Number> numbers{};
    double busy = 0;  // by which the extremes are chosen
};

using Format = std::string (*)(double);

std::string short_text(double value) {
    return formatted("{:.1f}", value);
}

// "71G": a table has no room for more.
std::string short_bytes(double bytes) {
    const std::string text = bytes_text(bytes);
    const std::size_t blank = text.find(' ');
    return text.substr(0, blank) + text[blank + 1];
}

std::string cell(const Number& number, Format format) {
    return number ? format(*number) : "-";
}

Entry mean_entry(const std::vector<Entry>& entries, const std::vector<std::size_t>& some) {
    Entry mean{formatted("{} more", some.size()), "(mean)"};
    for (std::size_t column = 0; column < entries.front().numbers.size(); ++column) {
        mean.numbers.push_back(
            mean_of(some, [&](std::size_t i) { return entries[i].numbers[column]; }));
    }
    return mean;
}

std::vector<Entry> chosen(const std::vector<Entry>& entries, std::size_t max_rows) {
    std::vector<double> busy(entries.size());
    std::ranges::transform(entries, busy.begin(), &Entry::busy);
    // One row is for the others.
    const std::size_t max = entries.size() <= max_rows ? max_rows : max_rows - 1;
    const Extremes extremes = extremes_of(busy, max);
    std::vector<Entry> rows;
    for (const std::size_t i : extremes.lowest) rows.push_back(entries[i]);
    if (!extremes.others.empty()) rows.push_back(mean_entry(entries, extremes.others));
    for (const std::size_t i : extremes.highest) rows.push_back(entries[i]);
    return rows;
}

Number bytes_number(std::uint64_t bytes) {
    return static_cast<double>(bytes);
}

Entry entry_of(const GpuOnNode& each) {
    const GpuReport& gpu = *each.gpu;
    Entry entry{gpu.pci, each.node->node, gpu.ranks.empty() ? "-" : number_ranges(gpu.ranks)};
    Number busy;
    Number p10;
    if (is_measured(gpu)) {
        busy = entry.busy = gpu.busy.mean();
        p10 = gpu.busy.quantile(0.1);
    }
    const bool has_memory = gpu.memory_total > 0;
    entry.numbers = {busy, p10, has_memory ? bytes_number(gpu.memory_peak) : std::nullopt,
                     has_memory ? bytes_number(gpu.memory_total) : std::nullopt, gpu.joules};
    return entry;
}

Entry entry_of(const RankOnNode& each) {
    const RankReport& rank = *each.rank;
    const double seconds = rank.ended.value_or(each.node->seconds);
    const auto cores = [&](double cpu_seconds) {
        return seconds > 0 ? Number(cpu_seconds / seconds) : std::nullopt;
    };
    return {std::to_string(rank.rank),
            each.node->node,
            "",
            {cores(rank.cpu_seconds), cores(rank.worker_cpu_seconds),
             bytes_number(rank.memory_peak), bytes_number(rank.bytes_read),
             bytes_number(rank.bytes_written), bytes_number(rank.bytes_exchanged), rank.first_gpu},
            mean_busy(each).value_or(rank.cpu_seconds)};
}

}  // namespace

Extremes extremes_of(const std::vector<double>& values, std::size_t max) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (values.size() <= max) return {order};
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
    const auto low = order.begin() + static_cast<std::ptrdiff_t>((max + 1) / 2);
    const auto high = order.end() - static_cast<std::ptrdiff_t>(max / 2);
    return {{order.begin(), low}, {low, high}, {high, order.end()}};
}

std::vector<Row> gpu_rows(const StepReport& report, std::size_t max_rows) {
    std::vector<Entry> entries;
    for (const GpuOnNode& each : gpus_of(report)) entries.push_back(entry_of(each));
    std::vector<Row> rows{{"GPU", "NODE", "RANKS", "BUSY", "P10", "MEMORY", "OF", "ENERGY"}};
    for (const Entry& each : chosen(entries, max_rows)) {
        rows.push_back({each.name, each.node, each.ranks, cell(each.numbers[0], busy_text),
                        cell(each.numbers[1], busy_text), cell(each.numbers[2], short_bytes),
                        cell(each.numbers[3], short_bytes), cell(each.numbers[4], energy_text)});
    }
    return rows;
}

std::vector<Row> rank_rows(const StepReport& report, std::size_t max_rows) {
    std::vector<Entry> entries;
    for (const RankOnNode& each : ranks_of(report)) entries.push_back(entry_of(each));
    std::vector<Row> rows{
        {"RANK", "NODE", "CORES", "LOADERS", "MEMORY", "READ", "WRITTEN", "TCP", "1ST GPU"}};
    constexpr std::array<Format, 7> formats{short_text,  short_text,  short_bytes, short_bytes,
                                            short_bytes, short_bytes, time_text};
    for (const Entry& each : chosen(entries, max_rows)) {
        rows.push_back({each.name, each.node});
        for (std::size_t i = 0; i < formats.size(); ++i) {
            rows.back().push_back(cell(each.numbers[i], formats[i]));
        }
    }
    return rows;
}

}  // namespace distgpu
