// The key report: what the plugin tells distgpu-sampler (tools/distgpu/report), which it starts
// once on each node.
#pragma once

#include "base/result.h"
#include "node/host_helper.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace distgpu {

struct StepSampler {
    std::string command{};    // the path of distgpu, which reads the GPUs
    std::string file{};       // absolute; of the whole step
    std::string cluster{};    // empty if unknown
    std::string job{};        // as squeue shows it: "5", "5_1"
    std::string step{};       // "5.0"; of a heterogeneous step, the leader's
    std::string component{};  // the same, but of this component
    std::string spec{};       // as the user wrote it
    std::string node{};       // NodeName
    std::uint32_t index = 0;  // of the node in the step
    std::uint32_t nodes = 0;  // of the step
    std::uint32_t tasks = 0;  // likewise

    bool operator==(const StepSampler&) const = default;
    static void fields(auto& io, auto& it) {
        io("command", it.command, "file", it.file, "cluster", it.cluster, "job", it.job, "step",
           it.step, "component", it.component, "spec", it.spec, "node", it.node, "index", it.index,
           "nodes", it.nodes, "tasks", it.tasks);
    }
};

// The line with which slurmstepd says over the control (tools/distgpu/report/sampler.h) that all
// tasks of the node have ended; before it comes one of ended_task_line() for each: Slurm's number
// of the task, its wait status, and its rank, unless a launcher in it has several. The program
// sends one newline when it starts, with which the kernel passes its process id.
inline constexpr std::string_view all_ended_line = "end\n";
std::string ended_task_line(std::uint32_t task, int status, std::optional<std::uint32_t> rank);

// nullopt for any other text than start_step_sampler() gives the program as its word.
std::optional<StepSampler> read_step_sampler(std::string_view text);

// Starts `program`, the path of distgpu-sampler, which has the control's end as helper_fd. It
// writes to this process's standard error why it records nothing. Errors: the program does not
// exist.
Result<std::monostate> start_step_sampler(const HostHelper& helper, const std::string& program,
                                          const StepSampler& sampler,
                                          const Environment& environment, int control);

}  // namespace distgpu
