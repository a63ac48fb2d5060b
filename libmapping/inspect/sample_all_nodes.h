// Asks all nodes of a running step about its processes: runs distgpu there in a new step that
// overlaps it, and reads the nodes' answers from srun's output. The nodes send them in pieces,
// because srun mixes the lines of all nodes, and keeps lines whole only up to about a thousand
// bytes.
#pragma once

#include "base/result.h"
#include "inspect/node_sample.h"
#include "slurm/running_step.h"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// What each node of one component of a step answered, by node.
struct PartAnswers {
    const StepPart* part = nullptr;
    std::map<std::string, std::string> texts{};
    std::vector<std::string> silent{};  // nodes that sent nothing
};

// Runs this program with the words of `subcommand_for` on each node of a component, where it prints
// answer_lines(). The new step has one task per node, takes no CPU, memory or GPU from the job, and
// is ignored by the plugin; a heterogeneous step has one for each component. Removes this process's
// SLURM_ variables, which may describe another step. `duration` is how long the subcommand runs;
// returns at most a minute later, because Slurm may need time to start a step on a thousand nodes.
// Errors (object: the step): srun cannot be run, or is refused, as for another user's job.
using SubcommandFor = std::function<std::vector<std::string>(const StepPart&)>;
Result<std::vector<PartAnswers>> ask_all_nodes(const RunningStep& step,
                                               const SubcommandFor& subcommand_for,
                                               std::chrono::seconds duration);

struct StepSample {
    std::vector<NodeSample> nodes;
    std::vector<std::string> silent;  // nodes that sent no sample
};

// The same for a subcommand that is followed by the step's name and answers with a NodeSample.
Result<StepSample> sample_all_nodes(const RunningStep& step,
                                    const std::vector<std::string>& subcommand,
                                    std::chrono::seconds duration);

// The nodes' notes about what they could not sample, preceded by one that names the silent nodes.
std::vector<std::string> with_silent_nodes(const std::vector<std::string>& silent,
                                           std::vector<std::string> notes);

// The lines in which `node` sends `text`.
std::string answer_lines(std::string_view node, std::string_view text);

// The nodes' texts, reassembled from srun's output.
struct Answers {
    std::map<std::string, std::string> complete;  // by node; without those that lack a part
    std::string other_lines;                      // srun's own, up to 4 KiB
};
Answers read_answers(std::string_view output);

}  // namespace distgpu
