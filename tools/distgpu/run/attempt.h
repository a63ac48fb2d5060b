// The srun line of `distgpu run`: which part of the job's nodes each attempt has, and the words
// that say so. Pure.
#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct Training {
    std::vector<std::string> words;  // srun, and what follows it, as the user wrote it
    std::vector<std::string> job_nodes;
    std::uint32_t nodes = 0;  // of each attempt
    // Of each attempt; nullopt: srun's own options or variables determine it.
    std::optional<std::uint32_t> tasks{};
    bool is_exclusive = false;  // by srun's option, with which it accepts no --overlap

    std::size_t spares() const { return job_nodes.size() - nodes; }
};

// `job`: the batch script's environment. `spares`: nodes of the job that an attempt does not use;
// nullopt: those that srun's --nodes leaves. Errors: not an srun line; not in a job; an option that
// chooses the nodes; --nodes that is not the job's nodes without the spares; a number of tasks that
// does not follow from the options.
Result<Training> read_training(std::vector<std::string> words, const Environment& job,
                               std::optional<std::uint32_t> spares);

// The nodes of a host list; none if it is not one.
std::vector<std::string> node_names(std::string_view host_list);

std::vector<std::string> nodes_without(std::vector<std::string> nodes,
                                       const std::vector<std::string>& others);

// The nodes of an attempt: the first ones of the job that are not in `left_out`.
std::vector<std::string> attempt_nodes(const Training& training,
                                       const std::vector<std::string>& left_out);

// The words of an attempt on these nodes: --nodes, --ntasks and --exclude, with the job's other
// nodes, directly behind srun, so that what the user wrote wins. `has_lost_nodes`: of the job. With
// --overlap, because the step of a lost node keeps the CPUs and GPUs of its other nodes until the
// end of the job, if its tasks there ended before slurmctld gave the node up (seen on 22.05).
std::vector<std::string> attempt_words(const Training& training,
                                       const std::vector<std::string>& nodes, bool has_lost_nodes);

}  // namespace distgpu
