// Runs a command on each node of a running step, beside it.
#pragma once

#include "base/result.h"
#include "slurm/running_step.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace distgpu {

struct NodeAnswers {
    std::map<std::string, std::string> texts;  // by node
    std::vector<std::string> silent;           // nodes without an answer
    std::string said;                          // what srun said; empty: nothing
};

// One step of srun's, of one task a node, that takes no CPU, memory or GPU from the job, and for
// which the plugin does nothing. The command's output is answer_lines(). This process loses its
// SLURM_ variables, which would describe another step. `length` is the command's own; returns a
// minute after it at the latest, as Slurm may take its time to start a step on a thousand nodes.
// Errors (object: the step): srun cannot be run, or may not, as with another user's job.
Result<NodeAnswers> ask_nodes(const RunningStep& step, const std::vector<std::string>& command,
                              std::chrono::seconds length);

}  // namespace distgpu
