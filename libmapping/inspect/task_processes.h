// The processes of tasks on this node: those that are known, and their descendants.
#pragma once

#include "inspect/node_sample.h"
#include "inspect/process_facts.h"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// More than a node normally has (tens of ranks, each with a few workers). Others are left out.
constexpr std::size_t max_processes = 512;

// The processes that do not count as a task's: the one by which another learns of signals
// (signal_relay.h), and a task's parent (task_parent.h), for which its oldest child stands.
inline constexpr const char* signal_witness_name = "distgpu-signals";
inline constexpr const char* task_parent_name = "distgpu-task";

struct StepProcess {
    pid_t pid = 0;
    std::optional<std::uint32_t> rank{};  // Slurm's, if it is a task's first process

    bool operator==(const StepProcess&) const = default;
};

// The known processes and their descendants, up to max_processes, sorted by pid, without moments
// and connections. `problem`: why some may be missing.
NodeSample sample_processes(const std::string& node, const std::vector<StepProcess>& known,
                            const std::string& problem,
                            const ProcessTree& tree = read_process_tree());

// Gives each process of the sample one moment, with its state now.
void read_states(NodeSample& sample);

}  // namespace distgpu
