// Whether a signal that came to this process came to the program that it runs, too.
//
// Which processes of a step Slurm signals is the site's choice: with proctrack/linuxproc all of
// them, with proctrack/cgroup only slurmstepd's children, unless SignalChildrenProcesses is set. A
// server that gets a signal twice is interrupted while it saves. So a process that stands where the
// program stands, a child with a session of its own, tells what it gets.
#pragma once

#include "base/io/unique_fd.h"

#include <csignal>
#include <optional>
#include <sys/types.h>

namespace distgpu {

class SignalWitness {
  public:
    // Of these signals, which are to be blocked already. It ends with this process at the latest.
    explicit SignalWitness(const sigset_t& signals);

    // To wait for it.
    int fd() const { return told_.fd(); }
    // The next one that it got; nothing: none. Without a witness: none ever.
    std::optional<int> next() const;

  private:
    UniqueFd told_;  // a pipe's end
};

}  // namespace distgpu
