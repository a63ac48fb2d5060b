// Which tasks and ranks of a step have ended, and how, as far as the nodes' samples prove it.
#pragma once

#include "base/json.h"
#include "inspect/node_sample.h"
#include "inspect/ranks.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace distgpu {

// A process that has ended, but whose parent has not waited for it. The kernel no longer has its
// variables, so its rank is known only if its task has one rank.
struct Zombie {
    std::string node;
    pid_t pid = 0;
    std::string name;
    std::optional<std::uint32_t> task{};
    std::string how;  // ending_text()

    bool operator==(const Zombie&) const = default;
};

JsonText zombie_json(const Zombie& zombie);  // without its task

// Up to 64.
std::vector<Zombie> find_zombies(std::span<const NodeSample> samples);

// How many of the tasks that Slurm started on the node have no process that runs. 0 if the sample
// does not name the tasks. Needs at least one process of each running task in the sample.
std::size_t ended_task_count(const NodeSample& sample);

// Whether the node answered, and no process of the step runs on it.
bool has_no_process(const NodeSample& sample);

// A rank of which no process was found.
struct MissingRank {
    enum class State : std::uint8_t {
        ended,          // proven: its task was started, and has ended
        task_runs,      // its task runs, but no process of it has its rank
        node_is_empty,  // its node has no process of the step: all ended, or none has begun
        unseen,         // unknown: it may have ended, or a node did not answer
    };
    std::uint32_t rank = 0;
    State state = State::unseen;
    std::string node{};  // of its task; empty if unknown, or one of several
    std::string how{};   // ending_text(), if it is a zombie

    bool operator==(const MissingRank&) const = default;
};

// What is known of ranks.missing. `ranks`: from find_ranks() with these samples. `tasks`: of the
// step. `are_complete`: every node of the step has a sample. Ranks are matched with Slurm's tasks
// only if each task has one rank of the same number.
std::vector<MissingRank> describe_missing(std::span<const NodeSample> samples, const Ranks& ranks,
                                          std::uint32_t tasks, bool are_complete);

}  // namespace distgpu
