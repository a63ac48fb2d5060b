#include "run/recorder.h"

#include "base/io/write.h"
#include "report/formats.h"
#include "report/order_line.h"
#include "report/report_json.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace distgpu::scaling {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds least_pause{2};
constexpr int pause_share = 50;  // of the time that the last writing took: files grow with the run

// While the run goes on: what is derived would cost more with each measurement.
ReportInput underived(const Results& results) {
    ReportInput report;
    report.results = results;
    return report;
}

void print(std::FILE* stream, const std::string& text) {
    static_cast<void>(std::fputs(text.c_str(), stream));
    static_cast<void>(std::fflush(stream));
}

}  // namespace

Recorder::Recorder(const Options& options, std::FILE* out)
    : options_(options), out_(out), progress_(stderr) {}

std::optional<Error> Recorder::begin(Results results) {
    const std::lock_guard lock(mutex_);
    results_ = std::move(results);
    print(out_, table_header(results_));
    next_json_ = Clock::now() + least_pause;
    return write(underived(results_));
}

void Recorder::add_groups(const std::vector<Group>& groups) {
    const std::lock_guard lock(mutex_);
    results_.groups = groups;
}

Results Recorder::results() {
    const std::lock_guard lock(mutex_);
    return results_;
}

void Recorder::show(const std::string& phase) {
    const std::lock_guard lock(mutex_);
    progress_.show(phase);
}

void Recorder::add(const Measurement& measurement) {
    const std::lock_guard lock(mutex_);
    results_.measurements.push_back(measurement);
    progress_.clear();
    // The others are many; the verdict says what follows from them.
    if (is_scaling_group(results_.groups[measurement.group])) {
        print(out_, table_row(results_, measurement));
    }
    const auto begun = Clock::now();
    if (options_.files.json.empty() || begun < next_json_) return;
    const auto written =
        replace_file(options_.files.json, to_json(underived(results_)), Readers::by_umask);
    next_json_ =
        Clock::now() + std::max<Clock::duration>(least_pause, pause_share * (Clock::now() - begun));
    if (written || warned_) return;
    warned_ = true;
    print(stderr, written.error().message() + "; the run goes on\n");
}

void Recorder::add_orders(OrderComparison orders) {
    const std::lock_guard lock(mutex_);
    results_.orders = std::move(orders);
}

void Recorder::replace_nodes(std::vector<Node> nodes) {
    const std::lock_guard lock(mutex_);
    results_.nodes = std::move(nodes);
}

void Recorder::complete() {
    const std::lock_guard lock(mutex_);
    progress_.clear();
    ReportInput report = derive(results_, expectation());
    if (judge_) report.judgement = judge_->judge(results_);
    const auto unwritten = write(report);
    if (unwritten) print(stderr, unwritten->message() + "\n");
    print(out_, table_footer(results_) + facts_lines(report) + order_line(results_) +
                    judgement_text(results_, report.judgement) +
                    (report.step.empty() ? "" : "# " + report.step + "\n") + report.verdict + "\n");
    exit_code_ = unwritten ? ExitCode::environment : exit_code_of(report);
}

Expectation Recorder::expectation() const {
    const auto& expect = options_.expect;
    if (expect) return {ExpectedBandwidth{*expect, "--expect"}, options_.step};
    return {judge_ ? judge_->expected(results_) : std::nullopt, options_.step};
}

ExitCode Recorder::exit_code_of(const ReportInput& report) const {
    const ExitCode judged = scaling::exit_code_of(report.judgement);
    const bool limited = options_.fail_on_limiter && !report.limiters.empty();
    return limited ? ExitCode::check_failed : judged;
}

void Recorder::fail(const Failure& failure) {
    const std::unique_lock lock(mutex_, std::chrono::seconds(1));
    if (!lock.owns_lock()) return;
    progress_.clear();
    results_.failure = failure;
    static_cast<void>(
        write(derive(results_, expectation())));  // the run has failed already, and says why
}

std::optional<Error> Recorder::write(const ReportInput& report) const {
    const OutputFiles& files = options_.files;
    return write_files({{files.json, [&] { return to_json(report); }},
                        {files.csv, [&] { return to_csv(report); }},
                        {files.html, [&] { return to_html(to_json(report)); }},
                        {files.prometheus, [&] { return to_prometheus(report); }},
                        {files.drain_reason, [&] { return drain_reason(report); }}});
}

}  // namespace distgpu::scaling
