// Why the tasks of this node must not start, and which task reports it to the user.
#pragma once

#include "base/result.h"

#include <atomic>
#include <chrono>
#include <cstdint>

namespace distgpu {

struct Failure {
    Error error;
    // It was already reported, and the tasks of every node end without waiting: srun or the step's
    // check found it for all of them.
    bool known_to_all = false;
};

// State shared by slurmstepd and the tasks of a node that must not start. It is shared memory,
// because a task is forked before it finds a failure. Never unmapped; freed at process exit.
class RefusalNotice {
  public:
    // Before the tasks are forked. Without memory every task reports, and slurmstepd is not
    // notified.
    void create();

    // Slurm has forked all tasks of the node.
    void set_forked();
    void wait_until_forked(std::chrono::milliseconds longest) const;

    // A task of the node does not start its program.
    void set_refused();
    bool is_refused() const;

    // In a task: true for exactly one task of the node, which reports the reason to the user.
    bool claim_reporter();

    // The reason was reported to the user.
    void set_reported();
    bool is_reported() const;

    // Waits until it was reported, for at most `longest`.
    void wait_until_reported(std::chrono::milliseconds longest) const;

  private:
    struct Shared {
        std::atomic<bool> is_forked;
        std::atomic<bool> is_refused;
        std::atomic<bool> is_claimed;
        std::atomic<bool> is_reported;
    };
    static_assert(std::atomic<bool>::is_always_lock_free);

    Shared* shared_ = nullptr;
};

// How long after the start of its tasks a node reports that it refuses the step. Each node decides
// for itself, and the first report ends the step for all, so that the other nodes, which wait for
// their turn, do not report. `node`: its index among the step's `nodes`, from 0. 1 s for node 0,
// 3 s for the last of 16 nodes, 7.7 s for the last of 10,000.
std::chrono::milliseconds refusal_delay(std::uint32_t node, std::uint32_t nodes);

}  // namespace distgpu
