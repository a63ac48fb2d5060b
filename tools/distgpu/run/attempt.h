// The srun line of `distgpu run`: which part of the job's nodes each attempt has, and the words
// that say so. Pure.
#pragma once

#include "base/environment.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

struct Training {
    std::vector<std::string> words;  // srun, and what follows it, as the user wrote it
    std::uint32_t job_nodes = 0;     // of the job
    std::uint32_t nodes = 0;         // of each attempt
    // Of each attempt; nullopt: srun's own options or variables determine it.
    std::optional<std::uint32_t> tasks{};

    std::uint32_t spares() const { return job_nodes - nodes; }
};

// `job`: the batch script's environment. `spares`: nodes of the job that an attempt does not use;
// nullopt: those that srun's --nodes leaves. Errors: not an srun line; not in a job; an option that
// chooses the nodes; --nodes that is not the job's nodes without the spares; a number of tasks that
// does not follow from the options.
Result<Training> read_training(std::vector<std::string> words, const Environment& job,
                               std::optional<std::uint32_t> spares);

// The words of an attempt without the nodes in `left_out`: --nodes, --ntasks and --exclude directly
// behind srun, so that what the user wrote wins.
std::vector<std::string> attempt_words(const Training& training,
                                       const std::vector<std::string>& left_out);

}  // namespace distgpu
