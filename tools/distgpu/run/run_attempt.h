// One attempt of `distgpu run`: starts srun, passes signals on to it, and notifies the ranks before
// the job's time limit.
#pragma once

#include "base/environment.h"
#include "base/io/descriptor.h"
#include "base/result.h"
#include "node/run_report.h"
#include "run/history.h"

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

// Blocks the signals that run_attempt() awaits.
void block_signals();

// Whether a signal asks for the end within this time.
bool is_end_requested_within(std::chrono::seconds time);

// The file to which srun's plugin writes why a step ended. It has no name, so that nothing is left
// behind if this process is killed.
class RunReports {
  public:
    RunReports();

    // Those since the last call.
    std::vector<RunReport> take();

  private:
    UniqueFd file_;
};

// When the ranks get SIGUSR2, and when their step is ended if they go on: before the job's time
// limit, which may change meanwhile.
class LimitNotice {
  public:
    // `seconds`: 0 for no notice.
    LimitNotice(std::uint32_t seconds, const Environment& environment);

    bool was_sent() const { return was_sent_; }
    Deadline due() const { return due_; }

    // When it is due. Returns whether the step is to end now.
    bool act();

  private:
    void look();

    std::uint32_t seconds_;
    const Environment& environment_;
    std::optional<std::time_t> limit_{};
    Deadline due_ = Deadline::max();
    bool was_sent_ = false;
};

// Runs srun until it ends. The result has no nodes yet, and no progress.
AttemptEnd run_attempt(const std::vector<std::string>& words, LimitNotice& notice);

}  // namespace distgpu
