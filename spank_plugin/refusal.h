// Why the tasks of this node cannot start, and which of them tells the user.
#pragma once

#include "base/result.h"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace distgpu {

struct Failure {
    Error error;
    // The user was told, and the tasks of every node end by themselves: srun found it on their
    // behalf, or the check of the step did.
    bool known_to_all = false;
};

// What the tasks of a node that may not start tell each other and slurmstepd. A task is forked
// before it finds out, so this memory is shared. Never unmapped; freed at process exit.
class RefusalNotice {
  public:
    // Before the tasks are forked. Without memory every task speaks, and slurmstepd hears of none.
    void create();

    // Slurm has forked all tasks of the node.
    void set_forked();
    void wait_until_forked(std::chrono::milliseconds longest) const;

    // In a task: true for exactly one of the node, which tells the user why.
    bool claim_reporter();

    // The user was told.
    void set_told();
    bool is_told() const;

    // Until the user was told, or the time is over.
    void wait_until_told(std::chrono::milliseconds longest) const;

  private:
    struct Shared {
        std::atomic<bool> forked;
        std::atomic<bool> taken;
        std::atomic<bool> told;
    };
    static_assert(std::atomic<bool>::is_always_lock_free);

    Shared* shared_ = nullptr;
};

// How long after the start of its tasks a node tells that it refuses the step. Each node finds out
// for itself, and the first that tells ends the step for all, so that the others, which wait for
// their turn, never do. `node` is its position among the step's `nodes`, below that: 1 s for node
// 0, 3 s for the last of 16 nodes, 7.7 s of 10,000.
std::chrono::milliseconds refusal_turn(std::uint32_t node, std::uint32_t nodes);

}  // namespace distgpu
