// What the tasks of a node that may not start tell each other and slurmstepd. A task is forked
// before it finds out: what it writes is its own, but for this memory.
#pragma once

#include <atomic>
#include <chrono>

namespace distgpu {

// Lives as long as its process; the memory is given back with that.
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

}  // namespace distgpu
