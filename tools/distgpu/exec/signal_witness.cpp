#include "exec/signal_witness.h"

#include "inspect/step_processes.h"

#include <array>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace distgpu {
namespace {

// In the child: system calls only.
[[noreturn]] void witness(const sigset_t& signals, pid_t parent, int tell) {
    setsid();
    prctl(PR_SET_NAME, signal_witness_name);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);  // it ended before that
    // srun waits for the end of the task's output.
    dup2(tell, STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0);  // newer than some kernels
    while (true) {
        int signal = 0;
        if (sigwait(&signals, &signal) != 0) _exit(0);
        const auto byte = static_cast<unsigned char>(signal);  // less than 65
        if (write(STDIN_FILENO, &byte, 1) != 1) _exit(0);
    }
}

}  // namespace

SignalWitness::SignalWitness(const sigset_t& signals) {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) witness(signals, parent, ends[1]);
    close(ends[1]);
    told_ = UniqueFd(ends[0]);
}

std::optional<int> SignalWitness::next() const {
    unsigned char signal = 0;
    if (read(told_.fd(), &signal, 1) != 1) return std::nullopt;
    return signal;
}

}  // namespace distgpu
