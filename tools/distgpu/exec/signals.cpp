// See signals.h.
#include "exec/signals.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace distgpu {
namespace {

constexpr std::array stop_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};

Socket take_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : stop_signals) sigaddset(&signals, signal);
    for (const int signal : {SIGUSR1, SIGUSR2, SIGCHLD}) sigaddset(&signals, signal);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    return Socket(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

bool asks_to_stop(int signal) {
    return std::find(stop_signals.begin(), stop_signals.end(), signal) != stop_signals.end();
}

Signals::Signals() : descriptor_(take_signals()) {}

std::optional<int> Signals::next() const {
    signalfd_siginfo info{};
    if (read(descriptor_.fd(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
}

}  // namespace distgpu
