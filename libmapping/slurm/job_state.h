// Jobs as slurmctld and Slurm's accounting describe them: whether a job runs, and if not, one
// sentence that says what it waits for, or how it ended.
#pragma once

#include "slurm/running_step.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct Job {
    std::string number;  // "7", which is unique in arrays and heterogeneous jobs too
    std::string id;      // as squeue shows it: "7", "4_3", "4_[5-9]", "6+1"
    std::string name{};
    std::string user{};
    std::string state{};   // Slurm's word: "RUNNING", "CANCELLED by 1000"
    std::string reason{};  // why it is pending, Slurm's word
    std::string nodes{};
    std::string run_time{};   // "1-02:03:04"
    std::string exit_code{};  // "7:0": the status and the signal
    std::string end_time{};
    std::string suspend_time{};
    std::optional<JobComponent> component{};
    std::vector<std::string> components{};  // the numbers of all components, in their order

    bool is_running() const;
    bool has_ended() const;
};

// Parses what `scontrol --oneliner show job JOB` prints: a line for each element of an array, or
// component of a heterogeneous job.
std::vector<Job> parse_jobs(std::string_view text);

// A job or step in Slurm's accounting.
struct AccountedStep {
    std::string id;  // "7", "7.batch", "6+1.0"
    std::string user{};
    std::string state{};
    std::string exit_code{};
    std::string end_time{};
    std::string run_time{};
    std::string name{};
};

// The fields that parse_sacct() expects of `sacct --parsable2 --noheader`.
inline constexpr const char* sacct_fields = "JobID,User,State,ExitCode,End,Elapsed,JobName";

// Lines with other fields are skipped.
std::vector<AccountedStep> parse_sacct(std::string_view text);

// The jobs among them that have ended; for those whose job slurmctld no longer knows.
std::vector<Job> ended_jobs(const std::vector<AccountedStep>& listed);

// The step named `id`, which has ended; nullopt if it is not listed, or still runs.
std::optional<AccountedStep> find_ended(const std::vector<AccountedStep>& listed,
                                        std::string_view id);

// "was cancelled by user 1000", "failed with exit status 7"; from Slurm's state and exit code.
std::string how_it_ended(std::string_view state, std::string_view exit_code);

// "step 7.0 failed with exit status 7, at 2026-11-27T02:46:56 after 00:00:01".
std::string ended_sentence(std::string_view what, const AccountedStep& ended);

// Why there is nothing to sample of a job that does not run: it is suspended, pending, ending, or
// has ended. `listed`: its steps in Slurm's accounting, of which those of srun that did not
// complete are named, the first to end first; empty without accounting.
std::string state_sentence(const Job& job, const std::vector<AccountedStep>& listed = {});

}  // namespace distgpu
