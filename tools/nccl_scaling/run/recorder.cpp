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

constexpr std::chrono::seconds least_pause{2};
constexpr int pause_share = 50;  // of the time that the last writing took: files grow with the run

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
    next_json_ = Clock::now() + least_pause;
    return write({results_});
}

void Recorder::add_groups(const std::vector<Group>& groups) {
    const std::lock_guard lock(mutex_);
    results_.groups = groups;
}

Results Recorder::results() {
    const std::lock_guard lock(mutex_);
    return results_;
}

void Recorder::add(const Measurement& measurement) {
    const std::lock_guard lock(mutex_);
    results_.measurements.push_back(measurement);
    // The others are many; the verdict says what follows from them.
    if (is_scaling_group(results_.groups[measurement.group])) {
        print(out_, table_row(results_, measurement));
    }
    const auto begun = Clock::now();
    if (options_.files.json.empty() || begun < next_json_) return;
    const auto written = replace_file(options_.files.json, to_json({results_}), Readers::by_umask);
    next_json_ =
        Clock::now() + std::max<Clock::duration>(least_pause, pause_share * (Clock::now() - begun));
    if (written || warned_) return;
    warned_ = true;
    print(stderr, written.error().message() + "; the run goes on\n");
}

void Recorder::name_worst(double seconds) {
    constexpr double far_slower = 0.5;
    const std::lock_guard lock(mutex_);
    for (const Finding& finding : blame(evidence_of(results_)).findings) {
        const std::string name = limiter_name(results_, finding.limiter);
        if (finding.relative >= far_slower || !worst_.insert(name).second) continue;
        print(out_, formatted("# after {:.0f} s: {} at {} of its peers\n", seconds, name,
                              format_percent(finding.relative)));
    }
}

void Recorder::complete() {
    const std::lock_guard lock(mutex_);
    const Report made = report();
    const auto unwritten = write(made);
    if (unwritten) print(stderr, unwritten->message() + "\n");
    print(out_, fault_lines(made) +
                    (made.judgement ? judgement_text(results_, *made.judgement) : "") +
                    made.verdict + "\n");
    if (unwritten) {
        exit_code_ = ExitCode::environment;
    } else if (options_.fail_on_limiter && !made.limiters.empty()) {
        exit_code_ = ExitCode::check_failed;
    } else if (made.judgement) {
        exit_code_ = made.judgement->exit_code();
    }
}

void Recorder::fail(const Failure& failure) {
    const std::unique_lock lock(mutex_, std::chrono::seconds(1));
    if (!lock.owns_lock()) return;
    results_.failure = failure;
    static_cast<void>(write(report()));  // the run has failed already, and says why
}

Report Recorder::report() const {
    return report_of(results_, options_.expect, baseline_ ? &*baseline_ : nullptr);
}

std::optional<Error> Recorder::write(const Report& report) const {
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
