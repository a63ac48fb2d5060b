#include "inspect/task_parent.h"

#include "base/io/descriptor.h"
#include "inspect/signal_ranks.h"
#include "inspect/signal_relay.h"
#include "inspect/task_processes.h"

#include <cerrno>
#include <cstdlib>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

// Ends this process by what ended the program, so that Slurm reports the same.
[[noreturn]] void end_as(int wait_status) {
    if (!WIFSIGNALED(wait_status)) _exit(WEXITSTATUS(wait_status));
    const rlimit no_core{};  // the program has written its own
    setrlimit(RLIMIT_CORE, &no_core);
    const int number = WTERMSIG(wait_status);
    static_cast<void>(signal(number, SIG_DFL));
    kill(getpid(), number);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, nullptr);
    constexpr int signalled = 128;
    _exit(signalled + number);
}

sigset_t all_signals() {
    sigset_t signals;
    sigfillset(&signals);
    return signals;
}

class TaskParent {
  public:
    TaskParent(pid_t program, std::uint32_t task) : program_(program), task_{getpid(), task} {}

    // Until the program and its ranks have ended; returns the program's wait status.
    int run() {
        constexpr int pause = 100;
        // The program may have ended before SIGCHLD was blocked.
        for (reap(); !is_over(); reap()) {
            std::vector<pollfd> waiting;
            relay_.add_to(waiting);
            const bool has_deadline = relay_.has_scheduled() || wait_status_;
            poll(waiting.data(), waiting.size(), has_deadline ? pause : -1);
            while (const auto got = relay_.next()) {
                const bool is_from_slurm = got->is_sent_by_process && got->sender == getppid();
                if (got->number != SIGCHLD && is_from_slurm) receive(got->number);
            }
            for (const auto& [number, is_direct] : relay_.pop_due()) pass_on(number, is_direct);
        }
        return *wait_status_;
    }

  private:
    void receive(int number) {
        sigaddset(&received_, number);
        const auto signal = find_signal(number);
        // One that nothing handles has its effect at once; a second one changes nothing.
        if (signal && signal->needs_handler && !has_handler(program_, *signal) &&
            !has_rank_with_handler(task_, *signal)) {
            if (!wait_status_) kill(program_, number);
        } else {
            relay_.schedule(number);
        }
    }

    void pass_on(int number, bool is_direct) {
        if (is_direct) return;
        const auto signal = find_signal(number);
        const bool is_sent = signal && !signal_ranks_of_task(task_, *signal).sent.empty();
        if (!is_sent && !wait_status_) kill(program_, number);
    }

    void reap() {
        int status = 0;
        while (true) {
            const pid_t child = waitpid(-1, &status, WNOHANG);
            if (child <= 0) return;
            if (child != program_) continue;
            wait_status_ = status;
            end_ = Clock::now();
        }
    }

    // Where Slurm itself signals all processes, a shell or launcher that the signal ended leaves
    // behind the ranks that catch it.
    bool is_over() const {
        if (!wait_status_) return false;
        const auto signal =
            WIFSIGNALED(*wait_status_) ? find_signal(WTERMSIG(*wait_status_)) : std::nullopt;
        if (!signal || !has_rank_with_handler(task_, *signal)) return true;
        // Slurm may have signalled the program a moment before this process.
        return sigismember(&received_, signal->number) == 0 && Clock::now() > end_ + 300ms;
    }

    pid_t program_;
    StepProcess task_;  // whose ranks may be below this process alone, when the program has ended
    SignalRelay relay_{all_signals()};
    sigset_t received_{};             // from Slurm
    std::optional<int> wait_status_;  // of the program
    Deadline end_;                    // of the program
};

}  // namespace

void be_task_parent(pid_t program, std::uint32_t task) {
    close_from(0);
    prctl(PR_SET_NAME, task_parent_name);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const int status = TaskParent(program, task).run();
    end_as(status);
}

}  // namespace distgpu
