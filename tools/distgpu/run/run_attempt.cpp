#include "run/run_attempt.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/values.h"
#include "mapping/texts/variables.h"
#include "node/own_task.h"
#include "output.h"
#include "run/slurm_state.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distgpu {
namespace {

sigset_t awaited_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
        sigaddset(&signals, number);
    }
    return signals;
}

bool asks_for_end(int signal) {
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

// Returns 0 at the deadline, and after an hour at the latest.
siginfo_t await_signal(Deadline deadline) {
    constexpr std::chrono::hours longest{1};
    const auto wait =
        std::clamp<Clock::duration>(deadline - Clock::now(), Clock::duration(0), longest);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
    const timespec time{
        seconds.count(),
        std::chrono::duration_cast<std::chrono::nanoseconds>(wait - seconds).count()};
    const sigset_t signals = awaited_signals();
    siginfo_t info{};
    return sigtimedwait(&signals, &info, &time) > 0 ? info : siginfo_t{};
}

}  // namespace

void block_signals() {
    const sigset_t signals = awaited_signals();
    sigprocmask(SIG_BLOCK, &signals, nullptr);
}

bool is_end_requested_within(std::chrono::seconds time) {
    const Deadline deadline = Clock::now() + time;
    while (Clock::now() < deadline) {
        if (asks_for_end(await_signal(deadline).si_signo)) return true;
    }
    return false;
}

RunReports::RunReports() : file_(memfd_create("distgpu-run", MFD_CLOEXEC)) {
    if (!file_.is_open()) return;
    setenv(run_report_variable, formatted("/proc/{}/fd/{}", getpid(), file_.fd()).c_str(), 1);
}

std::vector<RunReport> RunReports::take() {
    std::string text;
    std::array<char, 4096> part{};
    ssize_t got = 0;
    while (file_.is_open() && (got = read(file_.fd(), part.data(), part.size())) > 0) {
        text.append(part.data(), static_cast<std::size_t>(got));
    }
    std::vector<RunReport> reports;
    std::string_view rest = text;
    while (!rest.empty()) {
        if (auto report = read_run_report(cut_until(rest, '\n'))) {
            reports.push_back(*std::move(report));
        }
    }
    return reports;
}

LimitNotice::LimitNotice(std::uint32_t seconds, const Environment& environment)
    : seconds_(seconds), environment_(environment) {
    if (seconds_ > 0) look();
}

// If slurmctld does not answer, the limit is as before; if it is not known yet, it is asked again.
void LimitNotice::look() {
    const auto record = ask_job_record(environment_);
    if (record) {
        limit_ = record->end;
    } else {
        print_error_line(record.error().message());
    }
    due_ = record ? Deadline::max() : Clock::now() + std::chrono::minutes(1);
    if (!limit_) return;
    // Slurm itself ends the job up to a minute after the limit.
    const std::uint32_t before_limit = was_sent_ ? std::min(seconds_ / 4, 10U) : seconds_;
    due_ = Clock::now() + std::chrono::seconds(*limit_ - std::time(nullptr)) -
           std::chrono::seconds(before_limit);
}

bool LimitNotice::act() {
    look();
    if (due_ > Clock::now()) return false;
    if (was_sent_) {
        due_ = Deadline::max();
        return true;
    }
    was_sent_ = true;
    print_error_line(formatted("distgpu: run: the job ends in {} s", seconds_));
    const auto started =
        start_program({own_program_path(), "signal", own_job(environment_), "USR2"}, {});
    if (started.problem) print_error_line(started.problem->error.message());
    look();
    return false;
}

// Signals of a terminal go to srun, too, so they are not passed on. srun itself ends the step at
// the second Ctrl-C.
AttemptEnd run_attempt(const std::vector<std::string>& words, LimitNotice& notice) {
    const pid_t srun = fork();
    if (srun == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        const sigset_t signals = awaited_signals();
        sigprocmask(SIG_UNBLOCK, &signals, nullptr);
        const int problem = replace_process(words);
        _exit(problem == ENOENT ? static_cast<int>(ExitCode::not_found)
                                : static_cast<int>(ExitCode::not_executable));
    }
    AttemptEnd end;
    int interrupts = 0;
    constexpr int signalled = 128;
    int status = 0;
    while (srun > 0 && waitpid(srun, &status, WNOHANG) == 0) {
        const siginfo_t signal = await_signal(notice.due());
        if (Clock::now() >= notice.due() && notice.act()) kill(srun, SIGTERM);
        if (signal.si_signo == 0 || signal.si_signo == SIGCHLD) continue;
        interrupts += signal.si_signo == SIGINT ? 1 : 0;
        end.was_asked_to_end = end.was_asked_to_end || interrupts > 1 ||
                               (signal.si_signo != SIGINT && asks_for_end(signal.si_signo));
        if (signal.si_code <= 0) kill(srun, signal.si_signo);
    }
    end.was_notified = notice.was_sent();
    end.status = srun < 0            ? static_cast<int>(ExitCode::environment)
                 : WIFEXITED(status) ? WEXITSTATUS(status)
                                     : signalled + WTERMSIG(status);
    return end;
}

}  // namespace distgpu
