// Records the results on rank 0: on the terminal, and in files that are complete at any time.
#pragma once

#include "base/result.h"
#include "report/outcome.h"
#include "results/results.h"
#include "run/options.h"

#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace distgpu::scaling {

class Recorder {
  public:
    Recorder(const Options& options, std::FILE* out);

    // The earlier run that complete() compares the results with.
    void set_baseline(Baseline baseline) { baseline_ = std::move(baseline); }

    // `results` has everything but the measurements. Prints the table's header and writes every
    // file. Error, before time is spent on measurements: a file cannot be written.
    std::optional<Error> begin(Results results);

    // Replaces the groups by all groups so far.
    void set_groups(const std::vector<Group>& groups);

    // The results so far.
    Results results();

    // Prints a row for a scaling group, and replaces the JSON file from time to time, which takes
    // at most 2 % of the time. If the file cannot be written, prints one warning and continues.
    void add_measurement(const Measurement& measurement);

    // Prints the parts that are far slower than their peers, each once, with the elapsed time.
    void print_slow_parts(double seconds);

    // The run is complete: writes every file, and prints the comparison and the verdict.
    void complete();

    // After complete(): the exit status, from the files, the comparison and --fail-on-limiter.
    ExitCode exit_code() const { return exit_code_; }

    // The run ends early: writes every file, marked as partial. Can be called from any thread; does
    // nothing if another one hangs in the file system with the lock held.
    void fail(const Failure& failure);

  private:
    Report make_current_report() const;

    // Writes all requested files, even if one fails. Returns the first error.
    std::optional<Error> write_files(const Report& report) const;

    const Options& options_;
    std::FILE* out_;
    std::timed_mutex mutex_;  // for the members below
    Results results_;
    std::optional<Baseline> baseline_;
    std::set<std::string> printed_slow_parts_;  // names printed so far
    ExitCode exit_code_ = ExitCode::done;
    bool has_warned_ = false;  // about a file that cannot be written
    std::chrono::steady_clock::time_point next_json_;
};

}  // namespace distgpu::scaling
