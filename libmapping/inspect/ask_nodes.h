// Runs distgpu on each node of a running step, by a step of its own that overlaps it, and reads
// what the nodes send. They send through srun's one output: in pieces, because srun keeps lines
// whole only up to about a thousand bytes, and mixes those of all nodes.
#pragma once

#include "base/result.h"
#include "inspect/look.h"
#include "slurm/slurm_queries.h"

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct NodeLooks {
    std::vector<NodeLook> nodes;
    std::vector<std::string> silent;  // nodes without one
};

// `subcommand` is run on each node: of this program, with the step's name behind it; it prints
// answer_lines() of a NodeLook. One step of srun's, of one task a node, that takes no CPU, memory
// or GPU from the job, and for which the plugin does nothing. This process loses its SLURM_
// variables, which would describe another step. `length` is the subcommand's own; returns a minute
// after it at the latest, as Slurm may take its time to start a step on a thousand nodes. Errors
// (object: the step): srun cannot be run, or may not, as with another user's job.
Result<NodeLooks> look_at_all(const RunningStep& step, const std::vector<std::string>& subcommand,
                              std::chrono::seconds length);

// What could not be seen, a paragraph each: the nodes that are silent, and why others saw nothing.
std::vector<std::string> not_seen(const std::vector<std::string>& silent,
                                  std::vector<std::string> notes);

// The lines that hold `text`, as of `node`.
std::string answer_lines(std::string_view node, std::string_view text);

// All that srun printed, put together again.
struct Answers {
    std::map<std::string, std::string> complete;  // by node; not those of which a part is missing
    std::string others;                           // lines of srun's own, up to 4 KiB
};
Answers read_answers(std::string_view output);

}  // namespace distgpu
