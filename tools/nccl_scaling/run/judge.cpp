#include "run/judge.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "report/report_json.h"
#include "run/threshold_file.h"

#include <utility>

namespace distgpu::scaling {

Result<Judge> Judge::make(const Demands& demands) {
    Judge judge;
    judge.demands_ = demands;
    if (!(demands.tolerance >= 0 && demands.tolerance <= 1)) {
        return Error{"tolerance", formatted("{} is not between 0 and 1", demands.tolerance),
                     "0.05 lets each bus bandwidth be 5% lower"};
    }
    if (!demands.baseline.empty()) {
        auto baseline = read_results(demands.baseline);
        if (!baseline) return baseline.error();
        judge.baseline_ = *std::move(baseline);
    }
    if (!demands.thresholds.empty()) {
        auto text = read_file(demands.thresholds, "give a file of thresholds");
        if (!text) return text.error();
        auto thresholds = parse_thresholds(*text, demands.thresholds);
        if (!thresholds) return thresholds.error();
        judge.thresholds_ = *std::move(thresholds);
    }
    return judge;
}

Judgement Judge::judge(const Results& results) const {
    using Kind = JudgedDemand::Kind;
    Judgement judgement;
    if (baseline_) {
        judgement.demands.push_back(
            {Kind::baseline, demands_.baseline, demands_.tolerance,
             compare(results, thresholds_of(*baseline_, demands_.tolerance)),
             differences(results, *baseline_)});
    }
    if (!thresholds_.empty()) {
        judgement.demands.push_back(
            {Kind::thresholds, demands_.thresholds, 0, compare(results, thresholds_), {}});
    }
    return judgement;
}

std::optional<ExpectedBandwidth> Judge::expected(const Results& results) const {
    const auto main = main_measurement(results);
    if (!baseline_ || !main) return std::nullopt;
    for (const Change& change : changes(*baseline_, results)) {
        if (change.measurement == *main) return ExpectedBandwidth{change.before, "the baseline"};
    }
    return std::nullopt;
}

ExitCode exit_code_of(const Judgement& judgement) {
    switch (outcome_of(judgement)) {
        case Judgement::Outcome::passed:
            return ExitCode::done;
        case Judgement::Outcome::failed:
            return ExitCode::check_failed;
        case Judgement::Outcome::skipped:
            break;
    }
    return ExitCode::skipped;
}

}  // namespace distgpu::scaling
