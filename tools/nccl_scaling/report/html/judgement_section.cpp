// What the run was held against, and how it came out. See sections.h.
#include "base/format.h"
#include "report/html/markup.h"
#include "report/html/sections.h"
#include "report/names.h"
#include "report/units.h"
#include "report/words.h"

namespace distgpu::scaling::html {
namespace {

std::string table_of(const Results& results, const Comparison& comparison) {
    if (comparison.violations.empty() && comparison.waived.empty()) return "";
    Table table;
    table.caption = "What did not pass";
    table.columns = {"measurement", "", "busbw (GB/s)", "must reach (GB/s)", "of that"};
    table.words = 2;
    table.rows.reserve(comparison.violations.size() + comparison.waived.size());
    for (const Violation& violation : comparison.violations) {
        const double least = violation.threshold.bandwidth;
        table.rows.push_back(
            {measurement_name(results, results.measurements[violation.measurement]), "failed",
             format_bandwidth(violation.bandwidth), format_bandwidth(least),
             format_percent(violation.bandwidth / least)});
    }
    for (const Threshold& threshold : comparison.waived) {
        table.rows.push_back({waived_name(threshold), "not measured", "n/a",
                              format_bandwidth(threshold.bandwidth), "n/a"});
    }
    return to_html(table);
}

}  // namespace

std::string judgement_section(const Results& results, const Judgement& judgement) {
    if (judgement.demands.empty()) return "";
    std::string text = formatted("<p><strong>{}</strong></p>\n",
                                 words::word_of(words::outcomes, outcome_of(judgement)));
    for (const JudgedDemand& demand : judgement.demands) {
        text += formatted("<p>{}</p>\n", escaped(summary_of(demand)));
        for (const Difference& difference : demand.differences) {
            text += formatted("<p>{}</p>\n", escaped(difference_text(difference)));
        }
        text += table_of(results, demand.comparison);
    }
    return text;
}

}  // namespace distgpu::scaling::html
