// What rank 0 keeps of the run: the results so far, on the terminal and in files that are whole at
// any time.
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

    // What complete() will hold the results against.
    void hold_against(Baseline baseline) { baseline_ = std::move(baseline); }

    // What the measurements are of. Prints the table's head, and writes every file. Error, before
    // time is spent on measurements: a file that cannot be written.
    std::optional<Error> begin(Results results);

    // All groups so far, which may be more than before.
    void add_groups(const std::vector<Group>& groups);

    // What was measured so far.
    Results results();

    // Prints a row if it is of what grows, and now and then replaces the JSON file: of all rows the
    // writing takes 2 % of the time at most. Where it cannot be written, a line says so once and
    // the run goes on.
    void add(const Measurement& measurement);

    // Prints who is far slower than its peers already, each once, and after which time.
    void name_worst(double seconds);

    // The run is complete: writes every file, prints what follows from the results.
    void complete();

    // After complete(): whether every file was written, and the results are what was asked of them.
    ExitCode exit_code() const { return exit_code_; }

    // It ends before its end: writes every file, marked as partial. From any thread, also while
    // another one adds; gives up where that one hangs in the file system.
    void fail(const Failure& failure);

  private:
    Report report() const;

    // Each file that was asked for, also the one after one that cannot be written. The first error.
    std::optional<Error> write(const Report& report) const;

    const Options& options_;
    std::FILE* out_;
    std::timed_mutex mutex_;  // of what follows
    Results results_;
    std::optional<Baseline> baseline_;
    std::set<std::string> worst_;  // named so far
    ExitCode exit_code_ = ExitCode::done;
    bool warned_ = false;  // that a file cannot be written
    std::chrono::steady_clock::time_point next_json_;
};

}  // namespace distgpu::scaling
