// `distgpu report`: shows what a step did with its GPUs, from the files that the key report wrote.
#include "base/format.h"
#include "command_line.h"
#include "output.h"
#include "report/compare_reports.h"
#include "report/read_gpus.h"
#include "report/report_csv.h"
#include "report/report_files.h"
#include "report/report_page.h"
#include "report/report_text.h"

#include <memory>
#include <optional>
#include <string>

namespace distgpu {
namespace {

struct Arguments {
    std::string report;
    std::string format = "text";
    std::optional<std::string> compared;
    std::optional<std::string> html;
    bool csv = false;
    bool reads_gpus = false;
};

Result<StepReport> read_named(const std::string& name) {
    return find_report(name, ".").and_then(read_step_report);
}

ExitCode show(const Arguments& arguments) {
    const auto report = read_named(arguments.report);
    if (!report) return report_error(report.error(), ExitCode::environment);
    if (arguments.compared) {
        const auto other = read_named(*arguments.compared);
        if (!other) return report_error(other.error(), ExitCode::environment);
        return print_result(compare_reports(*report, *other), ExitCode::done);
    }
    if (arguments.html) {
        const auto written = replace_file(*arguments.html, report_page(*report), Readers::by_umask);
        return written ? ExitCode::done : report_error(written.error(), ExitCode::environment);
    }
    if (arguments.csv) return print_result(report_csv(*report), ExitCode::done);
    return print_result(arguments.format == "json" ? report_json(*report) + '\n'
                                                   : report_text(*report, has_colour_output()),
                        ExitCode::done);
}

ExitCode run_report(const Arguments& arguments) {
    return arguments.reads_gpus ? read_gpus() : show(arguments);
}

}  // namespace

Subcommand report_subcommand() {
    const auto arguments = std::make_shared<Arguments>();
    return {.name = "report",
            .help = "Show what a step did with its GPUs, while it runs or afterwards.",
            .options = {{.name = "REPORT",
                         .target = &arguments->report,
                         .help = "JOB, JOB.STEP or the file of the key report"},
                        format_option(arguments->format),
                        {.name = "--csv",
                         .target = &arguments->csv,
                         .help = "Print a table of all GPUs and ranks, for a spreadsheet",
                         .excludes = {"--format"}},
                        {.name = "--html",
                         .target = &arguments->html,
                         .help = "Write an HTML page to FILE instead",
                         .value_name = "FILE",
                         .excludes = {"--format", "--csv"}},
                        {.name = "--compare",
                         .target = &arguments->compared,
                         .help = "Show what changed from this report to REPORT2",
                         .value_name = "REPORT2",
                         .excludes = {"--format", "--csv", "--html"}},
                        {.name = "--read-gpus",
                         .target = &arguments->reads_gpus,
                         .help = "Internal: read the GPUs for distgpu-sampler"}},
            .run = [arguments] { return run_report(*arguments); }};
}

}  // namespace distgpu
