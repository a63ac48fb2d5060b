#include "report/judgement.h"

#include "base/format.h"
#include "report/names.h"
#include "report/units.h"
#include "report/words.h"

#include <algorithm>
#include <optional>

namespace distgpu::scaling {
namespace {

std::string failed_line(const Results& results, const Violation& violation) {
    constexpr double gb = 1e9;
    const double least = violation.threshold.bandwidth;
    return formatted("# FAILED: {}: {:.4g} GB/s, {} of the {:.4g} that it must reach\n",
                     measurement_name(results, results.measurements[violation.measurement]),
                     violation.bandwidth / gb, format_percent(violation.bandwidth / least),
                     least / gb);
}

}  // namespace

Judgement::Outcome outcome_of(const Judgement& judgement) {
    const auto& demands = judgement.demands;
    const bool failed = std::any_of(demands.begin(), demands.end(), [](const JudgedDemand& demand) {
        return !demand.comparison.violations.empty();
    });
    if (failed) return Judgement::Outcome::failed;
    const bool passed = std::any_of(demands.begin(), demands.end(), [](const JudgedDemand& demand) {
        return demand.comparison.passed > 0;
    });
    return passed || demands.empty() ? Judgement::Outcome::passed : Judgement::Outcome::skipped;
}

std::string summary_of(const JudgedDemand& demand) {
    std::string text =
        formatted("{} {}", words::word_of(words::demand_kinds, demand.kind), demand.file);
    if (demand.kind == JudgedDemand::Kind::baseline) {
        text += formatted(", tolerance {}", format_percent(demand.tolerance));
    }
    const Comparison& comparison = demand.comparison;
    return text + formatted(": {} passed, {} failed, {} not measured", comparison.passed,
                            comparison.violations.size(), comparison.waived.size());
}

std::string difference_text(const Difference& difference) {
    const auto quoted = [](const std::optional<std::string>& value) {
        return value ? formatted("'{}'", *value) : "missing";
    };
    return formatted("{} is {} there, {} here", difference.name, quoted(difference.there),
                     quoted(difference.here));
}

std::string waived_name(const Threshold& threshold) {
    return formatted("{}, {}",
                     operation_name({threshold.collective, threshold.type.value_or(DataType::f32),
                                     threshold.in_place.value_or(false), threshold.bytes,
                                     threshold.op.value_or(Op::sum)},
                                    !threshold.type),
                     counted(threshold.ranks, "rank"));
}

std::string judgement_text(const Results& results, const Judgement& judgement) {
    std::string text;
    for (const JudgedDemand& demand : judgement.demands) {
        for (const Difference& difference : demand.differences) {
            text += formatted("# {}: {}\n", demand.file, difference_text(difference));
        }
        for (const Violation& violation : demand.comparison.violations) {
            text += failed_line(results, violation);
        }
        for (const Threshold& threshold : demand.comparison.waived) {
            text += formatted("# not measured: {}\n", waived_name(threshold));
        }
        text += formatted("# {}\n", summary_of(demand));
    }
    return text;
}

}  // namespace distgpu::scaling
