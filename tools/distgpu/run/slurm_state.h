// What Slurm says between two attempts of `distgpu run`: of the job, its time limit and its nodes;
// and the requeue of the job.
#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct JobRecord {
    std::optional<std::time_t> end{};  // nullopt: no limit, or not known
    bool may_be_requeued = false;
    bool is_running = false;  // false: Slurm is ending it
    std::string excluded{};   // nodes, as Slurm prints them
};

// Parses what `scontrol --oneliner show job` prints of a job, whose times are local.
JobRecord read_job_record(std::string_view text);

// One RPC. Error: slurmctld did not answer.
Result<JobRecord> ask_job_record(const Environment& environment);

// The job as scontrol names it: "7", or "4_3" in an array.
std::string own_job(const Environment& environment);

// The nodes that `scontrol --oneliner show node` says are lost: down, failed or not responding.
std::vector<std::string> read_lost_nodes(std::string_view text);

// Those of the job's nodes that Slurm says are lost. One RPC. Error: slurmctld did not answer.
Result<std::vector<std::string>> ask_lost_nodes(const Environment& environment);

// Those of these nodes on which Slurm cannot start a program any more, though it does not say so
// yet: SlurmdTimeout is 300 s by default. Starts a small step on all of them, which needs 11 s
// where a node does not answer.
std::vector<std::string> find_silent_nodes(const std::vector<std::string>& nodes,
                                           const Environment& environment);

// For the subcommand that this step runs on each node.
ExitCode answer_from_node(const Environment& environment);

// Puts the job back into the queue, without these nodes; it then starts from the beginning of its
// script. Ends this process, too, in a moment. Errors: slurmctld refused, or did not answer.
Result<std::string> requeue_job(const Environment& environment,
                                const std::vector<std::string>& left_out);

}  // namespace distgpu
