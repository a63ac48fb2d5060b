// Receives signals for a process that starts another one, and decides which of them to pass on.
//
// The site decides which processes of a step Slurm signals: with proctrack/linuxproc all of them,
// with proctrack/cgroup only slurmstepd's children, unless SignalChildrenProcesses is set. A
// program that gets a signal twice is interrupted while it saves. So a witness, a child in a
// separate session like the program, reports which signals Slurm sends to such a process.
#pragma once

#include "base/io/descriptor.h"

#include <csignal>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace distgpu {

struct ReceivedSignal {
    int number = 0;
    pid_t sender = 0;                 // of kill(2)
    bool is_sent_by_process = false;  // and not by the kernel, as for a terminal
};

class SignalRelay {
  public:
    // Blocks `signals` and SIGCHLD to read them from a descriptor, and starts the witness, which
    // ends with this process at the latest.
    explicit SignalRelay(const sigset_t& signals);
    // Waits for the witness's end: if slurmstepd finds a process of the step when its last task has
    // ended, it waits a second for it.
    ~SignalRelay();
    SignalRelay(const SignalRelay&) = delete;
    SignalRelay& operator=(const SignalRelay&) = delete;

    int fd() const { return signal_fd_.fd(); }
    void add_to(std::vector<pollfd>& waiting) const;

    // The next signal that this process received; nullopt if there is none.
    std::optional<ReceivedSignal> next() const;

    // Schedules a signal for the program. `is_remote`: another node received it, so that this
    // process may still receive it too.
    void schedule(int signal, bool is_remote = false);
    bool has_scheduled() const { return !pending_.empty(); }

    // The scheduled signals that are due. `is_direct`: the program got it from Slurm.
    struct Due {
        int number = 0;
        bool is_direct = false;
    };
    std::vector<Due> pop_due();

  private:
    struct Signal {
        int number = 0;
        Deadline until{};  // when it is due, or forgotten
        bool is_remote = false;
    };

    UniqueFd signal_fd_;
    UniqueFd witness_pipe_;
    pid_t witness_ = -1;
    std::vector<Signal> pending_;
    std::vector<Signal> witnessed_;
};

}  // namespace distgpu
