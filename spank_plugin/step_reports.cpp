#include "step_reports.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/io/programs.h"
#include "mapping/frameworks/framework.h"
#include "node/run_report.h"
#include "slurm_calls.h"
#include "spank_access.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace distgpu {
namespace {

// For `distgpu run`, in whose environment srun was started.
void append_to_run_report(const std::string& path, const std::string& line) {
    if (path.empty()) return;
    const UniqueFd file(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (file.is_open()) write_all(file.fd(), line + '\n');
}

// What `distgpu run` says of it: its own line goes on where this one speaks of the step's end.
RunReport run_report_of(const FailedTask::Decision& decision) {
    constexpr std::string_view prefix = "distgpu: ";
    const std::string_view text = std::string_view(decision.line).substr(prefix.size());
    return {std::string(text.substr(0, text.find(';'))), decision.node};
}

}  // namespace

bool ends_step_on_failure(const Request& request, const SlurmOptions& options) {
    const bool chose_slurms = options.has("kill-on-bad-exit") || options.has("no-kill") ||
                              !process_variable("SLURM_KILL_BAD_EXIT").empty() ||
                              !process_variable("SLURM_NO_KILL").empty();
    return request.fail.value_or(FailChoice::end) == FailChoice::end && !chose_slurms &&
           request.framework->service == nullptr && !kills_on_bad_exit();
}

bool StepReports::receive(NodeMessage message) {
    if (message.kind == rows_message) {
        return rows_ && rows_->add(std::move(message.lines), Clock::now());
    }
    if (message.kind == run_report_message && message.lines.size() == 1) {
        append_to_run_report(step_.run_report, message.lines.front());
        return true;
    }
    auto task = read_ended_task(message);
    if (task && failed_) failed_->add(*std::move(task), Clock::now());
    return failed_.has_value();
}

// At the start, and once the notice is due, because the limit may have changed meanwhile.
void StepReports::act_on_time_limit(Clock::time_point now) {
    const std::string key = formatted("signal={}@{}", signal_.name, signal_.seconds);
    const auto end = job_end_time(step_.job);
    const auto left = end ? *end - std::time(nullptr) : signal_.seconds;
    const auto until_due = std::chrono::seconds(left - signal_.seconds);
    const bool was_known = std::exchange(is_limit_known_, true);
    notice_due_ = Deadline::max();
    if (until_due > std::chrono::seconds(0)) {
        notice_due_ = now + until_due;
    } else if (!was_known) {
        const Error too_late{key,
                             formatted("the job ends in {} s, so the ranks get no notice", left),
                             "choose a longer --time, or fewer seconds"};
        const Error unknown{key,
                            "slurmctld does not say when the job ends, so the ranks get no notice",
                            "send it yourself with distgpu signal"};
        print_to_user((end ? too_late : unknown).message());
    } else {
        print_to_user(formatted("distgpu: {}: the job ends in {} s", key, left));
        signal_ranks({});
    }
}

void StepReports::signal_ranks(const std::vector<std::string>& options) const {
    std::vector<std::string> words{step_.command, "signal",
                                   formatted("{}.{}", step_.job, step_.step), signal_.name};
    words.insert(words.end(), options.begin(), options.end());
    const auto started = start_program(words, {.output = STDERR_FILENO});
    if (started.problem) print_to_user(started.problem->error.message());
}

Deadline StepReports::act(Clock::time_point now, bool is_step_over) {
    if (rows_ && (is_step_over || now >= rows_->due())) {
        write_all(STDERR_FILENO, rows_->finish());
    }
    const Deadline due = failed_ ? failed_->due() : Deadline::max();
    if (now >= due || (is_step_over && due != Deadline::max())) {
        using State = FailedTask::StepState;
        const auto decision = failed_->decide(is_step_over               ? State::over
                                              : is_job_ending(step_.job) ? State::ending
                                                                         : State::running);
        if (!decision.line.empty()) {
            print_to_user(decision.line);
            append_to_run_report(step_.run_report, to_line(run_report_of(decision)));
        }
        if (decision.ends_step) {
            signal_step(step_.job, step_.step, SIGTERM);
            kill_ = now + kill_wait();
        }
    }
    if (now >= kill_ && !is_step_over) {
        signal_step(step_.job, step_.step, SIGKILL);
        kill_ = Deadline::max();
    }
    if (now >= notice_due_ && !is_step_over) act_on_time_limit(now);
    if (now >= handlers_due_ && !is_step_over) {
        handlers_due_ = Deadline::max();
        signal_ranks({"--dry-run", "--quiet"});
    }
    return std::min({failed_ ? failed_->due() : Deadline::max(), kill_, notice_due_, handlers_due_,
                     rows_ ? rows_->due() : Deadline::max()});
}

}  // namespace distgpu
