// slurmstepd: learn the step's layout, check what only a node can check, and
// give each task its environment.
#pragma once

#include "mapping/plan/plan.h"
#include "node/layout_check.h"
#include "options.h"
#include "plugstack_arguments.h"
#include "spank_access.h"
#include "step_binding.h"

#include <optional>
#include <span>
#include <string>

namespace distgpu {

class StepdSide {
  public:
    // init_post_opt, as root. Never refuses (that would drain the node): what
    // goes wrong is recorded, and the tasks end in in_task().
    Outcome options_read(spank_t spank, const OptionState& option,
                         std::span<const char* const> arguments);

    // user_init, as the user, once a node; messages reach srun from here on.
    Outcome before_tasks(spank_t spank);

    // task_post_fork, as root, for each task before any of them goes on.
    Outcome task_forked(spank_t spank);

    // task_init, as the user, in each task's process just before execve. Ends
    // that process where the task must not start.
    Outcome in_task(spank_t spank);

    // exit, as root, after the last task of this node.
    Outcome after_tasks(spank_t spank) const;

  private:
    // Who tells the user about a failure, so that it is told once.
    enum class Teller { this_node, first_node, srun };
    struct Failure {
        Error error;
        Teller teller = Teller::first_node;
    };

    bool active() const { return request_.framework != nullptr || failure_.has_value(); }
    void fail(Error error, Teller teller) { failure_ = {std::move(error), teller}; }
    void read_step(spank_t spank, std::uint32_t step);
    void resolve_layout(spank_t spank);
    bool take_carried(spank_t spank);
    bool take_derived(spank_t spank);
    void ask_slurmctld(spank_t spank);
    void collect_rendezvous_facts(spank_t spank);
    void collect_addresses();
    bool runs_rank0(spank_t spank) const;  // of a heterogeneous step
    void check_plan(spank_t spank);
    NodeFacts node_facts(spank_t spank, LocalId local) const;
    Outcome prepare(spank_t spank) const;

    std::string spec_;
    Request request_;
    PlugstackArguments arguments_;
    std::uint32_t job_ = 0;
    std::uint32_t step_ = 0;
    bool heterogeneous_ = false;
    LocalTasks component_tasks_;  // numbered within this component, as SPANK does
    std::optional<StepLayout> layout_;
    RendezvousFacts facts_;
    StepFacts step_facts_;
    std::string own_address_;  // NodeAddr of this node; empty: not known
    StepBinding binding_;
    bool user_bound_ = false;  // the user gave srun --cpu-bind
    std::optional<Failure> failure_;
};

}  // namespace distgpu
