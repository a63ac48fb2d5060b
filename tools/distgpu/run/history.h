// How the attempts of `distgpu run` ended, and whether another one follows. Pure.
#pragma once

#include "run/attempt.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// The status of a program that asks not to be started again, as in NVIDIA's resiliency extension.
inline constexpr int no_restart_status = 93;

struct AttemptEnd {
    int status = 0;                    // srun's, as in a shell
    std::string who{};                 // "rank 3 on node02 failed first: it ended with status 1"
    std::vector<std::string> where{};  // the node of that rank
    std::vector<std::string> lost_nodes{};   // of the job, by now
    std::vector<std::string> unfit_nodes{};  // that the check found
    bool is_job_ending = false;
    bool was_asked_to_end = false;  // a signal to `distgpu run` itself
    bool has_progressed = true;     // since the attempt before
    bool was_notified = false;      // of the time limit
};

struct Rules {
    std::uint32_t restarts = 3;  // after the first attempt
    bool requeues = false;       // the job, at its time limit
    std::uint32_t max_requeues = 10;
    std::uint32_t requeued = 0;  // so far: SLURM_RESTART_COUNT
};

enum class NextStep { done, restart, requeue, give_up };

struct Decision {
    NextStep next = NextStep::done;
    std::string why{};                    // for people and the log
    std::vector<std::string> left_out{};  // from now on
};

// `attempts`: all so far, the last one included. A training that ends after the notice of the time
// limit has saved, whatever its status. Left out are nodes that are lost, unfit, or where two
// attempts in a row failed first, if enough are left without these.
Decision decide(const Training& training, const std::vector<AttemptEnd>& attempts,
                const Rules& rules);

}  // namespace distgpu
