// The key signal: the process that Slurm knows as a task is a parent of the task's program. What
// Slurm sends to the task, this parent passes on to the ranks below it that catch it, and not to
// the shell or launcher that started them, which the signal would end.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace distgpu {

// Makes this process the parent of `program`, its child, until the program and every rank that
// still handles a signal have ended; then ends as the program did. Closes all files, because srun
// waits for the end of a task's output. `task`: Slurm's number of it, if no rank has RANK.
//
// Only signals from this process's own parent, slurmstepd, are passed on: others, as from a
// terminal or a script that signals its process group, reach the program by themselves. If no rank
// catches the signal, the program gets it.
//
// Precondition: signals have been blocked (SignalBlock) since before the program's fork. Otherwise
// one to the process group may end this process before it handles them.
[[noreturn]] void be_task_parent(pid_t program, std::uint32_t task);

}  // namespace distgpu
