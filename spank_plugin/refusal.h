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
// before it finds out: what it writes is its own, but for this memory. Lives as long as its
// process; the memory is given back with that.
class RefusalNotice {
  public:
    // Before the tasks are forked. Without memory every task speaks, and slurmstepd hears of none.
    void create();

    // Slurm has forked all tasks of the node.
    void set_forked();
    void wait_until_forked(std::chrono::milliseconds longest) const;

    // In a task. True for the first that asks: this one tells the user why.
    bool take_word();

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

// When a node that refuses the step says so. The nodes find out each for itself, and the first that
// speaks ends the step for all: the others, who wait for their turn, are never heard. Of the node
// with this position, 0-based, among the step's `nodes`, from when its tasks were
// started: 1 s for node 0, 3 s for the last of 16 nodes, 7.7 s of 10,000. Precondition: node <
// nodes.
std::chrono::milliseconds refusal_turn(std::uint32_t node, std::uint32_t nodes);

}  // namespace distgpu
