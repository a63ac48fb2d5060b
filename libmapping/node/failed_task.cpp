#include "node/failed_task.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/values.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <sys/wait.h>

namespace distgpu {

NodeMessage message_of(const EndedTask& task) {
    return {ended_message, {std::to_string(task.status), task.who, task.memory}};
}

std::optional<EndedTask> read_ended_task(const NodeMessage& message) {
    if (message.kind != ended_message || message.lines.size() != 3) return std::nullopt;
    const auto status = number_below(message.lines[0], std::size_t{1} << 16U);
    if (!status) return std::nullopt;
    return EndedTask{static_cast<int>(*status), message.lines[1], message.lines[2]};
}

bool was_asked_to_end(int status) {
    constexpr std::array signals{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    constexpr int of_a_shell = 128;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - of_a_shell;
    return std::ranges::find(signals, signal) != signals.end();
}

void FailedTask::add(EndedTask task, Clock::time_point now) {
    constexpr std::chrono::seconds until_all_have_ended{2};
    if (task.status == 0) {
        may_end_step_ = false;
        return;
    }
    were_all_killed_ = were_all_killed_ && task.status == SIGKILL && task.memory.empty();
    if (was_asked_to_end(task.status)) {
        was_asked_ = true;
    } else if (first_) {
        if (!until_next_) until_next_ = now - failed_;
    } else if (!was_asked_) {
        first_ = std::move(task);
        failed_ = now;
        due_ = now + until_all_have_ended;
    }
}

FailedTask::Decision FailedTask::decide(StepState state) {
    due_ = Deadline::max();
    Decision decision;
    // As after `scancel JOB.STEP`, which kills all tasks.
    if (state == StepState::over && were_all_killed_) return decision;
    decision.ends_step = may_end_step_ && state == StepState::running;
    std::string line =
        formatted("distgpu: {} failed first: it {}", first_->who, ending_text(first_->status));
    if (!first_->memory.empty()) line += ", " + first_->memory;
    if (until_next_) {
        const double seconds = std::chrono::duration<double>(*until_next_).count();
        const std::string gap = seconds < 0.1 ? "less than 0.1 s" : formatted("{:.1f} s", seconds);
        line += formatted(", {} before the next", gap);
    }
    if (decision.ends_step) {
        line += "; the others would wait for it, so the step is ended (fail=wait keeps it)";
    }
    decision.line = std::move(line);
    decision.node = first_->who.substr(first_->who.rfind(' ') + 1);
    return decision;
}

}  // namespace distgpu
