#include "report/node_report.h"

#include "base/json_fields.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace distgpu {
namespace {

constexpr std::size_t percentages = 101;  // 0 to 100

bool is_valid(const BusyShare& busy) {
    return busy.counts.empty() || busy.counts.size() == percentages;
}

bool is_valid(const NodeReport& node) {
    return std::ranges::all_of(node.gpus, [](const GpuReport& gpu) { return is_valid(gpu.busy); });
}

}  // namespace

std::uint64_t BusyShare::samples() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

double BusyShare::mean() const {
    double sum = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) sum += static_cast<double>(i) * counts[i];
    return samples() == 0 ? 0 : sum / static_cast<double>(samples());
}

std::uint32_t BusyShare::quantile(double part) const {
    // The sample of this number, in ascending order, beginning with 1.
    const auto wanted =
        static_cast<std::uint64_t>(std::max(std::ceil(part * static_cast<double>(samples())), 1.0));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        seen += counts[i];
        if (seen >= wanted) return static_cast<std::uint32_t>(i);
    }
    return 0;
}

void BusyShare::add(std::uint32_t percent, std::uint32_t times) {
    counts.resize(percentages);
    counts[std::min<std::size_t>(percent, percentages - 1)] += times;
}

std::string report_json(const StepReport& report) {
    return fields_json(report).line();
}

std::optional<StepReport> read_report(std::string_view text) {
    auto report = read_fields<StepReport>(text, 256);
    if (!report || report->schema != report_schema ||
        !std::ranges::all_of(report->reports, [](const auto& node) { return is_valid(node); })) {
        return std::nullopt;
    }
    return report;
}

}  // namespace distgpu
