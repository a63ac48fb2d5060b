#include "step_reports.h"

#include "base/io/files.h"
#include "mapping/frameworks/framework.h"
#include "slurm_calls.h"
#include "spank_access.h"

#include <algorithm>
#include <csignal>
#include <unistd.h>

namespace distgpu {

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
    auto task = read_ended_task(message);
    if (task) failed_.add(*std::move(task), Clock::now());
    return task.has_value();
}

Deadline StepReports::act(Clock::time_point now, bool is_step_over) {
    if (rows_ && (is_step_over || now >= rows_->due())) {
        write_all(STDERR_FILENO, rows_->finish());
    }
    const Deadline due = failed_.due();
    if (now >= due || (is_step_over && due != Deadline::max())) {
        using State = FailedTask::StepState;
        const auto decision = failed_.decide(is_step_over               ? State::over
                                             : is_job_ending(step_.job) ? State::ending
                                                                        : State::running);
        if (!decision.line.empty()) print_to_user(decision.line);
        if (decision.ends_step) {
            signal_step(step_.job, step_.step, SIGTERM);
            kill_ = now + kill_wait();
        }
    }
    if (now >= kill_ && !is_step_over) {
        signal_step(step_.job, step_.step, SIGKILL);
        kill_ = Deadline::max();
    }
    return std::min({failed_.due(), kill_, rows_ ? rows_->due() : Deadline::max()});
}

}  // namespace distgpu
