// slurmstepd: what each callback does for a step that asked for distgpu.
#pragma once

#include "asked_step.h"
#include "node/port_claim.h"
#include "options.h"
#include "refusal.h"
#include "slurm/plugstack_arguments.h"
#include "spank_access.h"
#include "task_start.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace distgpu {

class StepdSide {
  public:
    // init_post_opt, as root, who reads nothing that a user wrote: what was asked for is kept as it
    // is, and slurmctld asked where it must be. Never refuses (that would drain the node): what
    // goes wrong is recorded, and the tasks end.
    Outcome options_read(spank_t spank, const OptionState& option,
                         std::span<const char* const> arguments);

    // user_init, as the user, once a node: reads the request and the step. Messages reach srun from
    // here on.
    Outcome before_tasks(spank_t spank);

    // task_post_fork, as root, for each task before any of them goes on.
    Outcome task_forked(spank_t spank);

    // task_init_privileged, as root, in each task's process before any plugin's task_init, in which
    // pyxis enters its container: ends the task where it is known by now that it must not start,
    // and leaves behind what shall stay outside.
    Outcome before_container(spank_t spank);

    // task_init, as the user, in each task's process just before execve.
    Outcome in_task(spank_t spank);

    // The same process: where the task must not start, tells the user why and ends.
    Outcome end_refused_task(spank_t spank);

    // task_exit, as root, for each task that has ended. Ends the step once if it was refused here.
    Outcome task_ended(spank_t spank);

    // A callback threw `what`: the tasks must not start.
    void broke(const char* callback, const char* what) noexcept;

  private:
    // What was asked for, unread, and what only root could find out about it.
    struct Asked {
        std::string origin;  // "--distgpu", or the variable
        std::string spec;
        bool by_option = false;
        FileRoot root;
        std::optional<Result<StepLayout>> layout;  // that of ask_for_layout()
    };

    void read_request(spank_t spank, Asked asked);
    void switch_off(spank_t spank, const std::string& spec);
    void learn(spank_t spank, Request request, Asked asked);

    PlugstackArguments arguments_;
    Identity identity_;
    std::optional<Asked> request_;  // until user_init reads it
    // Both empty: not asked for. A failure may come before the step is known, or after.
    std::optional<AskedStep> asked_;
    std::optional<Failure> failure_;
    std::optional<Error> unprepared_;  // what the user is told of a step that runs without distgpu
    StepBinding binding_;
    RefusalNotice notice_;
    pid_t stepd_ = 0;            // slurmstepd, from init_post_opt on
    bool is_contained_ = false;  // user_init ran in a process of its own: contain_spank
    PortClaims claims_{PortClaims::Heirs::none};
    PortClaims claims_of_task_{PortClaims::Heirs::programs};  // where it is contained
    std::vector<Error> warnings_;
    std::size_t forked_ = 0;        // tasks
    std::size_t finished_ = 0;      // tasks
    std::optional<HostSide> host_;  // in a task's process
    bool ended_ = false;
};

}  // namespace distgpu
