#include "run/saved_runs.h"

#include "analysis/compare.h"
#include "base/format.h"
#include "base/io/file_text.h"
#include "base/io/write.h"
#include "report/diff_table.h"
#include "report/formats.h"
#include "report/report_json.h"
#include "run/judge.h"

namespace distgpu::scaling {
namespace {

void print(std::FILE* out, const std::string& text) {
    static_cast<void>(std::fputs(text.c_str(), out));
}

}  // namespace

Result<ExitCode> redraw_page(const Redraw& redraw, std::FILE* out) {
    const auto json = read_file(redraw.run, "give a file that nccl-scaling --json wrote");
    if (!json) return json.error();
    const auto results = results_from_json(*json, redraw.run);
    if (!results) return results.error();
    const std::string page = to_html(*json);
    if (redraw.html.empty()) {
        print(out, page);
        return ExitCode::done;
    }
    return replace_file(redraw.html, page, Readers::by_umask).transform([](Done /*done*/) {
        return ExitCode::done;
    });
}

Result<ExitCode> diff_runs(const Diff& diff, std::FILE* out) {
    const auto after = read_results(diff.after);
    if (!after) return after.error();
    const auto before = read_results(diff.before);
    if (!before) return before.error();
    const Comparison comparison = compare(*after, thresholds_of(*before, diff.tolerance));
    const Judgement judgement{{{JudgedDemand::Kind::baseline, diff.before, diff.tolerance,
                                comparison, differences(*after, *before)}}};
    if (outcome_of(judgement) == Judgement::Outcome::skipped) {
        return Error{formatted("{} and {}", diff.before, diff.after), "no measurement in common",
                     "compare runs with the same collectives, types, sizes and numbers of ranks"};
    }
    print(out, diff_table(*before, *after) + judgement_text(*after, judgement));
    return exit_code_of(judgement);
}

}  // namespace distgpu::scaling
