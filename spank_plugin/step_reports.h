// In srun, while the step runs: prints the rows of `verbose` and which task failed first, ends a
// step whose other tasks would wait for that one, and notifies the ranks before the job's time
// limit.
#pragma once

#include "mapping/request/request.h"
#include "node/failed_task.h"
#include "node/verbose_rows.h"
#include "slurm/slurm_options.h"

#include <cstdint>
#include <optional>

namespace distgpu {

// Whether a failed task is to end the step: the user did not choose otherwise, by fail= or by
// srun's own options; Slurm does not end it anyway; and `distgpu exec` does not.
bool ends_step_on_failure(const Request& request, const SlurmOptions& options);

class StepReports : public MessageReceiver {
  public:
    struct Step {
        std::uint32_t job = 0;
        std::uint32_t step = 0;
        std::string command{};     // path of distgpu
        std::string run_report{};  // the file of `distgpu run`; empty without it
    };
    // `failed`: nullopt if failures are not reported. `rows`: nullopt without `verbose`.
    StepReports(Step step, std::optional<FailedTask> failed, std::optional<VerboseRows> rows,
                const SignalChoice& signal)
        : step_(std::move(step)),
          failed_(std::move(failed)),
          rows_(std::move(rows)),
          signal_(signal),
          notice_due_(signal.seconds > 0 ? Deadline::min() : Deadline::max()),
          handlers_due_(signal.name.empty() ? Deadline::max()
                                            : Clock::now() + std::chrono::minutes(1)) {}

    bool receive(NodeMessage message) override;
    Deadline act(Clock::time_point now, bool is_step_over) override;

  private:
    void act_on_time_limit(Clock::time_point now);
    void signal_ranks(const std::vector<std::string>& options) const;

    Step step_;
    std::optional<FailedTask> failed_;
    std::optional<VerboseRows> rows_;
    SignalChoice signal_;
    Deadline notice_due_;    // when to look at the time limit, or to send the notice
    Deadline handlers_due_;  // when to report the ranks that do not catch the signal
    bool is_limit_known_ = false;
    Deadline kill_ = Deadline::max();  // when the step's tasks have had SIGTERM for KillWait
};

}  // namespace distgpu
