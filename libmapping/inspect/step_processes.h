// The processes of a step on this node: those that slurmstepd knows, and what descends from them.
#pragma once

#include "base/environment.h"
#include "base/result.h"
#include "inspect/look.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// A node has tens of ranks, and each some worker processes: where it has so many, some may be
// missing.
constexpr std::size_t most_processes = 512;

// The process by which `distgpu exec` learns of signals (tools/distgpu/exec/supervise.cpp),
// which is none of the step's.
inline constexpr const char* signal_witness_name = "distgpu-signals";

struct StepProcess {
    pid_t pid = 0;
    std::optional<std::uint32_t> rank{};  // Slurm's, of a task's first process

    bool operator==(const StepProcess&) const = default;
};

// Asks by `scontrol listpids`, which reads slurmstepd's socket: a few milliseconds, and no RPC.
// `node` is this one, empty where its name is not known; `step` begins with its job's number:
// "5.0", "5.batch", "5.0+1". Errors: no step of the job runs on this node; scontrol cannot be run.
Result<std::vector<StepProcess>> list_step_processes(const std::string& node,
                                                     const std::string& step,
                                                     const Environment& environment);

// Up to most_processes of them, by their numbers, without moments and connections; where Slurm does
// not tell them, with the problem. Error: owned_by_another().
Result<NodeLook> find_step_processes(const std::string& node, const std::string& step,
                                     const Environment& environment);

// Why this process must not look at them: tasks among them run as another user, whose processes
// could choose what it reads. root is no exception.
std::optional<Error> owned_by_another(const std::string& step,
                                      const std::vector<StepProcess>& processes);

// Those of the step in what scontrol prints of a job: a heading, then PID, JOBID, STEPID, LOCALID,
// GLOBALID, "-" where there is none.
std::vector<StepProcess> parse_listpids(const std::string& step, std::string_view text);

}  // namespace distgpu
