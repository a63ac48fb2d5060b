// See judge.h.
#include "run/judge.h"

#include "analysis/bus_bandwidth.h"
#include "report/group_label.h"
#include "report/report_json.h"
#include "report/text_file.h"
#include "report/units.h"
#include "run/threshold_file.h"

#include <fmt/format.h>

#include <utility>

namespace distgpu::scaling {
namespace {

std::string name_of(Collective collective, std::optional<DataType> type,
                    std::optional<bool> in_place, std::uint64_t bytes) {
    return fmt::format("{}{}, {}{}", row_of(collective).name,
                       type ? fmt::format(" {}", row_of(*type).name) : "", format_bytes(bytes),
                       in_place.value_or(false) ? ", in place" : "");
}

std::string violation_line(const Results& results, const Violation& violation) {
    const Measurement& measurement = results.measurements[violation.measurement];
    constexpr double gb = 1e9;
    const double least = violation.threshold.bandwidth;
    return fmt::format(
        "# FAILED: {}, {}: {:.4g} GB/s, {} of the {:.4g} that it must reach\n",
        name_of(measurement.collective, measurement.type, measurement.in_place, measurement.bytes),
        group_label(results, results.groups[measurement.group]), violation.bandwidth / gb,
        format_percent(violation.bandwidth / least), least / gb);
}

std::string waived_line(const Threshold& threshold) {
    return fmt::format(
        "# not measured: {}, {}\n",
        name_of(threshold.collective, threshold.type, threshold.in_place, threshold.bytes),
        counted(threshold.ranks, "rank"));
}

// `what` was asked for.
std::string text_of(const Results& results, const Comparison& comparison, const std::string& what) {
    std::string text;
    for (const Violation& violation : comparison.violations) {
        text += violation_line(results, violation);
    }
    for (const Threshold& threshold : comparison.waived) text += waived_line(threshold);
    return text + fmt::format("# {}: {} passed, {} failed, {} not measured\n", what,
                              comparison.passed, comparison.violations.size(),
                              comparison.waived.size());
}

void add(Comparison& all, Comparison part) {
    all.passed += part.passed;
    all.violations.insert(all.violations.end(), part.violations.begin(), part.violations.end());
    all.waived.insert(all.waived.end(), part.waived.begin(), part.waived.end());
}

}  // namespace

Result<Judge> Judge::make(const Demands& demands) {
    Judge judge;
    judge.demands_ = demands;
    if (!demands.baseline.empty()) {
        auto baseline = read_results(demands.baseline);
        if (!baseline) return baseline.error();
        judge.baseline_ = *std::move(baseline);
    }
    if (!demands.thresholds.empty()) {
        auto text = read_text_file(demands.thresholds, "give a file of thresholds");
        if (!text) return text.error();
        auto thresholds = parse_thresholds(*text, demands.thresholds);
        if (!thresholds) return thresholds.error();
        judge.thresholds_ = *std::move(thresholds);
    }
    return judge;
}

Result<Judgement> Judge::judge(const Results& results) const {
    Judgement judgement;
    Comparison all;
    if (baseline_) {
        auto comparison =
            compare_to_baseline(results, *baseline_, demands_.tolerance, demands_.baseline);
        if (!comparison) return comparison.error();
        judgement.text += text_of(results, *comparison,
                                  fmt::format("baseline {}, tolerance {}", demands_.baseline,
                                              format_percent(demands_.tolerance)));
        add(all, *std::move(comparison));
    }
    if (!thresholds_.empty()) {
        auto comparison = compare(results, thresholds_);
        judgement.text += text_of(results, comparison, "thresholds " + demands_.thresholds);
        add(all, std::move(comparison));
    }
    if (!all.violations.empty()) {
        judgement.code = ExitCode::check_failed;
    } else if ((baseline_ || !thresholds_.empty()) && all.passed == 0) {
        judgement.code = ExitCode::skipped;
    }
    return judgement;
}

}  // namespace distgpu::scaling
