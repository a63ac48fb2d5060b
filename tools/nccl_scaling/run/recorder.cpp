#include "run/recorder.h"

#include "base/format.h"
#include "base/io/files.h"
#include "report/formats.h"
#include "report/names.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace distgpu::scaling {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds min_pause{2};
constexpr int pause_factor = 50;  // relative to the time of the last write, because the files grow

void print(std::FILE* stream, const std::string& text) {
    static_cast<void>(std::fputs(text.c_str(), stream));
    static_cast<void>(std::fflush(stream));
}

}  // namespace

Recorder::Recorder(const Options& options, std::FILE* out) : options_(options), out_(out) {}

std::optional<Error> Recorder::begin(Results results) {
    const std::lock_guard lock(mutex_);
    results_ = std::move(results);
    print(out_, table_header(results_));
    next_json_ = Clock::now() + min_pause;
    return write_files({results_});
}

void Recorder::set_groups(const std::vector<Group>& groups) {
    const std::lock_guard lock(mutex_);
    results_.groups = groups;
}

Results Recorder::results() {
    const std::lock_guard lock(mutex_);
    return results_;
}

void Recorder::add_measurement(const Measurement& measurement) {
    const std::lock_guard lock(mutex_);
    results_.measurements.push_back(measurement);
    // No rows for the many others; the verdict summarizes them.
    if (is_scaling_group(results_.groups[measurement.group])) {
        print(out_, table_row(results_, measurement));
    }
    const auto begin = Clock::now();
    if (options_.files.json.empty() || begin < next_json_) return;
    const auto written = replace_file(options_.files.json, to_json({results_}), Readers::by_umask);
    next_json_ =
        Clock::now() + std::max<Clock::duration>(min_pause, pause_factor * (Clock::now() - begin));
    if (written || has_warned_) return;
    has_warned_ = true;
    print(stderr, written.error().message() + "; the run continues\n");
}

void Recorder::print_slow_parts(double seconds) {
    constexpr double far_slower = 0.5;
    const std::lock_guard lock(mutex_);
    for (const Finding& finding : find_limiters(evidence_of(results_)).findings) {
        const std::string name = limiter_name(results_, finding.limiter);
        if (finding.relative_rate >= far_slower || !printed_slow_parts_.insert(name).second) {
            continue;
        }
        print(out_, formatted("# after {:.0f} s: {} at {} of its peers\n", seconds, name,
                              format_percent(finding.relative_rate)));
    }
}

void Recorder::complete() {
    const std::lock_guard lock(mutex_);
    const Report report = make_current_report();
    const auto write_error = write_files(report);
    if (write_error) print(stderr, write_error->message() + "\n");
    print(out_, fault_lines(report) +
                    (report.comparison ? comparison_text(results_, *report.comparison) : "") +
                    report.verdict + "\n");
    if (write_error) {
        exit_code_ = ExitCode::environment;
    } else if (options_.fail_on_limiter && !report.limiters.empty()) {
        exit_code_ = ExitCode::check_failed;
    } else if (report.comparison) {
        exit_code_ = report.comparison->exit_code();
    }
}

void Recorder::fail(const Failure& failure) {
    const std::unique_lock lock(mutex_, std::chrono::seconds(1));
    if (!lock.owns_lock()) return;
    results_.failure = failure;
    static_cast<void>(write_files(make_current_report()));  // the failure is reported anyway
}

Report Recorder::make_current_report() const {
    return make_report(results_, options_.expected_busbw, baseline_ ? &*baseline_ : nullptr);
}

std::optional<Error> Recorder::write_files(const Report& report) const {
    const auto& [json_file, html_file] = options_.files;
    if (json_file.empty() && html_file.empty()) return std::nullopt;
    const std::string json = to_json(report);
    std::optional<Error> first;
    const auto replace = [&](const std::string& path, const std::string& text) {
        const auto written = replace_file(path, text, Readers::by_umask);
        if (!written && !first) first = written.error();
    };
    if (!json_file.empty()) replace(json_file, json);
    if (!html_file.empty()) replace(html_file, to_html(json));
    return first;
}

}  // namespace distgpu::scaling
