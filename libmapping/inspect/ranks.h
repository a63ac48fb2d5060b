// Which of the sampled processes are the step's ranks, and which processes are above and below
// them.
#pragma once

#include "inspect/node_sample.h"

#include <cstdint>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// Null if it is not in the sample.
const ProcessSample* find_process(const NodeSample& sample, pid_t pid);

// Whether `top` is an ancestor of the process.
bool is_below(const NodeSample& sample, const ProcessSample& process, pid_t top);

// "811 bash wrap.sh" for each ancestor of the process, up to `first` if that is given; the
// outermost first, up to 16.
std::vector<std::string> launchers_of(const NodeSample& sample, const ProcessSample& process,
                                      pid_t first = 0);

struct RankSample {
    std::uint32_t rank = 0;
    const NodeSample* node = nullptr;
    const ProcessSample* process = nullptr;
    std::vector<const ProcessSample*>
        workers{};  // Python processes below it, such as a DataLoader's
};

// A RANK that processes of several tasks have.
struct SharedRank {
    std::uint32_t rank = 0;
    std::vector<std::uint32_t> tasks;  // ascending
};

struct Ranks {
    std::vector<RankSample> seen{};        // ascending
    std::vector<std::uint32_t> missing{};  // ascending; up to 65,536
    std::vector<SharedRank> shared{};      // then the tasks' numbers count as ranks
    std::uint64_t expected = 0;
};

// Whether it was stopped, or in an uninterruptible call, at the last moment: then it cannot move.
bool is_stopped_or_blocked(const ProcessSample& process);

// Whether it had not ended at the last moment.
bool is_alive(const ProcessSample& process);

// Finds ranks by RANK if processes have it, as with torchrun, otherwise by Slurm's number of their
// task. Python processes whose variables cannot be read, or were overwritten as by setproctitle,
// are the ranks that no other process has, in the order of tasks and of their start, if there are
// as many of both; otherwise they have the number of their task, if that rank was not seen.
// A rank's process is its oldest Python process, or else the oldest that is not a shell or
// launcher. `tasks`: of the step. `is_component`: of a heterogeneous step, whose ranks continue
// those of other components, so that missing ranks are unknown. The result points into `samples`.
Ranks find_ranks(std::span<const NodeSample> samples, std::uint32_t tasks,
                 bool is_component = false);

}  // namespace distgpu
