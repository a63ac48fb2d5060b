// What a node might tell of the ranks of a step.
#pragma once

#include "inspect/rank_facts.h"

#include <string>
#include <vector>

namespace distgpu {

inline RankFacts made_up_rank(std::uint32_t rank) {
    RankFacts facts;
    facts.rank = rank;
    facts.local_rank = rank % 2;
    facts.task = rank;
    facts.pid = static_cast<pid_t>(100 + rank);
    facts.command = "python3 train.py";
    facts.cpus = rank % 2 == 0 ? "0-3" : "4-7";
    facts.cpus_then = facts.cpus;
    facts.gpus = {{"0", "0000:06:00.0", "/dev/nvidia0", "H100"}, {"1", "0000:07:00.0"}};
    facts.variables = {{"NCCL_DEBUG", "WARN"}, {"RANK", std::to_string(rank)}};
    return facts;
}

// Two ranks, the first of which is `first`.
inline NodeFactsNow made_up_facts(const std::string& node, std::uint32_t first) {
    return {.node = node,
            .spec = "pytorch",
            .by_variable = true,
            .ranks = {made_up_rank(first), made_up_rank(first + 1)}};
}

}  // namespace distgpu
