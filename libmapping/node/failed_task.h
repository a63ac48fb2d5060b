// What the nodes of a step tell srun about tasks that have ended, and what follows from it: which
// one failed first, and whether the step is ended because the others would wait for it.
#pragma once

#include "node/srun_messages.h"

#include <optional>

namespace distgpu {

inline constexpr const char* ended_message = "ended";

// A node sends its first task that succeeded and its first two that failed.
struct EndedTask {
    int status = 0;        // as of wait(2)
    std::string who;       // "rank 37 on node05"
    std::string memory{};  // out_of_memory_text() of its node
};

NodeMessage message_of(const EndedTask& task);

// nullopt if it is no such message.
std::optional<EndedTask> read_ended_task(const NodeMessage& message);

// Whether a signal asked the task to end, as scancel, the time limit and users send it; a
// shell then ends with 128 and the signal's number.
bool was_asked_to_end(int status);

// In srun.
class FailedTask {
  public:
    // `may_end_step`: whether a failure is to end the step.
    explicit FailedTask(bool may_end_step) : may_end_step_(may_end_step) {}

    void add(EndedTask task, Clock::time_point now);

    // When to decide: 2 s after the first failure, so that a step whose tasks all fail ends by
    // itself. Never if no task has failed, or if a signal asked the first one to end.
    Deadline due() const { return due_; }

    struct Decision {
        std::string line;  // for the user; empty if there is nothing to say
        std::string node;  // of the task that failed first
        bool ends_step = false;
    };
    // Precondition: due() is not Deadline::max(), which it is from then on. A step of which a task
    // has succeeded is not ended: its training is over, and other tasks may be saving its results.
    enum class StepState { running, ending, over };  // ending: Slurm is ending its job
    Decision decide(StepState state);

  private:
    bool may_end_step_;
    bool was_asked_ = false;
    bool were_all_killed_ = true;
    std::optional<EndedTask> first_;
    Clock::time_point failed_;
    std::optional<Clock::duration> until_next_;
    Deadline due_ = Deadline::max();
};

}  // namespace distgpu
