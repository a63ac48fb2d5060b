#include "exec/signals.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <sys/signalfd.h>
#include <unistd.h>

namespace distgpu {
namespace {

using namespace std::chrono_literals;

constexpr std::array stop_signals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};

// Those that the program is to get.
sigset_t programs_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : stop_signals) sigaddset(&signals, signal);
    for (const int signal : {SIGUSR1, SIGUSR2}) sigaddset(&signals, signal);
    return signals;
}

UniqueFd take_signals() {
    sigset_t signals = programs_signals();
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    return UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

bool asks_to_stop(int signal) {
    return std::find(stop_signals.begin(), stop_signals.end(), signal) != stop_signals.end();
}

Signals::Signals() : descriptor_(take_signals()), witness_(programs_signals()) {}

void Signals::add_to(std::vector<pollfd>& waiting) const {
    waiting.push_back({descriptor_.fd(), POLLIN, 0});
    waiting.push_back({witness_.fd(), POLLIN, 0});
}

std::optional<int> Signals::next() const {
    signalfd_siginfo info{};
    if (read(descriptor_.fd(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
}

void Signals::hand_on(int signal) {
    // slurmstepd signals a step's processes one after the other.
    constexpr auto until_all_have_it = 300ms;
    const Deadline due = Clock::now() + until_all_have_it;
    const auto announced = std::find_if(
        pending_.begin(), pending_.end(),
        [&](const Pending& pending) { return pending.is_from_afar && pending.signal == signal; });
    if (announced != pending_.end()) {
        *announced = {signal, due};
    } else {
        pending_.push_back({signal, due});
    }
}

void Signals::hand_on_from_afar(int signal) {
    constexpr auto until_all_nodes_have_it = 1s;
    pending_.push_back({signal, Clock::now() + until_all_nodes_have_it, true});
}

std::vector<int> Signals::due() {
    constexpr auto memory = 2s;
    const Deadline now = Clock::now();
    while (const auto signal = witness_.next()) seen_.push_back({*signal, now + memory});
    std::vector<int> due;
    for (auto pending = pending_.begin(); pending != pending_.end();) {
        if (now < pending->due) {
            ++pending;
            continue;
        }
        if (!was_seen(pending->signal)) due.push_back(pending->signal);
        pending = pending_.erase(pending);
    }
    std::erase_if(seen_, [&](const Seen& seen) { return now >= seen.forgotten; });
    return due;
}

bool Signals::was_seen(int signal) {
    const auto seen = std::find_if(seen_.begin(), seen_.end(),
                                   [&](const Seen& each) { return each.signal == signal; });
    if (seen == seen_.end()) return false;
    seen_.erase(seen);
    return true;
}

}  // namespace distgpu
