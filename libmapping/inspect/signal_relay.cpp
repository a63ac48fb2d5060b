#include "inspect/signal_relay.h"

#include "inspect/task_processes.h"

#include <algorithm>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

// Runs in the child, where only system calls are allowed. Writes each signal to the pipe.
[[noreturn]] void run_witness(const sigset_t& signals, pid_t parent, int pipe_fd) {
    setsid();
    prctl(PR_SET_NAME, signal_witness_name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // the parent ended before the call above
    // Close the task's output, because srun waits for its end.
    dup2(pipe_fd, STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    close_from(STDERR_FILENO + 1);
    while (true) {
        int signal = 0;
        if (sigwait(&signals, &signal) != 0) _exit(0);
        const auto byte = static_cast<unsigned char>(signal);  // less than 65
        if (write(STDIN_FILENO, &byte, 1) != 1) _exit(0);
    }
}

}  // namespace

SignalRelay::SignalRelay(const sigset_t& signals) {
    sigset_t with_children = signals;
    sigaddset(&with_children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &with_children, nullptr);
    signal_fd_ = UniqueFd(signalfd(-1, &with_children, SFD_CLOEXEC | SFD_NONBLOCK));
    Pipe pipe = make_pipe(O_CLOEXEC | O_NONBLOCK);
    if (!pipe.is_open()) return;
    const pid_t parent = getpid();
    witness_ = fork();
    if (witness_ == 0) run_witness(signals, parent, pipe.write.fd());
    if (witness_ > 0) witness_pipe_ = std::move(pipe.read);
}

SignalRelay::~SignalRelay() {
    // Otherwise it has ended, and another process may have its number.
    const bool is_running = witness_ > 0 && waitpid(witness_, nullptr, WNOHANG) == 0;
    if (is_running && kill(witness_, SIGKILL) == 0) waitpid(witness_, nullptr, 0);
}

void SignalRelay::add_to(std::vector<pollfd>& waiting) const {
    waiting.push_back({signal_fd_.fd(), POLLIN, 0});
    waiting.push_back({witness_pipe_.fd(), POLLIN, 0});
}

std::optional<ReceivedSignal> SignalRelay::next() const {
    signalfd_siginfo info{};
    if (read(signal_fd_.fd(), &info, sizeof info) != sizeof info) return std::nullopt;
    return ReceivedSignal{static_cast<int>(info.ssi_signo), static_cast<pid_t>(info.ssi_pid),
                          info.ssi_code <= 0};
}

void SignalRelay::schedule(int signal, bool is_remote) {
    // slurmstepd signals a step's processes one after the other.
    constexpr auto local_delay = 300ms;
    constexpr auto remote_delay = 1s;
    if (!is_remote) {
        const auto announced = std::ranges::find_if(pending_, [&](const Signal& pending) {
            return pending.is_remote && pending.number == signal;
        });
        if (announced != pending_.end()) pending_.erase(announced);
    }
    const auto delay = is_remote ? remote_delay : local_delay;
    pending_.push_back({signal, Clock::now() + delay, is_remote});
}

std::vector<SignalRelay::Due> SignalRelay::pop_due() {
    constexpr auto retention = 2s;
    const Deadline now = Clock::now();
    unsigned char got = 0;
    while (read(witness_pipe_.fd(), &got, 1) == 1) witnessed_.push_back({got, now + retention});
    std::vector<Due> due;
    for (const Signal& pending : pending_) {
        if (now < pending.until) continue;
        const auto witnessed = std::ranges::find_if(
            witnessed_, [&](const Signal& each) { return each.number == pending.number; });
        due.push_back({pending.number, witnessed != witnessed_.end()});
        if (witnessed != witnessed_.end()) witnessed_.erase(witnessed);
    }
    const auto is_over = [&](const Signal& signal) { return now >= signal.until; };
    std::erase_if(pending_, is_over);
    std::erase_if(witnessed_, is_over);
    return due;
}

}  // namespace distgpu
