// What slurmctld says of the job's time limit, and of its requeue.
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
};

// Parses what `scontrol --oneliner show job` prints of a job, whose times are local.
JobRecord read_job_record(std::string_view text);

// One RPC. Error: slurmctld did not answer.
Result<JobRecord> ask_job_record(const Environment& environment);

// The job as scontrol names it: "7", or "4_3" in an array.
std::string own_job(const Environment& environment);

// Puts the job back into the queue, without these nodes; it then starts from the beginning of its
// script. Ends this process, too, in a moment. Errors: slurmctld refused.
Result<std::string> requeue_job(const Environment& environment,
                                const std::vector<std::string>& left_out);

}  // namespace distgpu
