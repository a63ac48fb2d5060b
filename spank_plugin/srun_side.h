// srun: judge the request before anything starts, then ask slurmctld once for
// the layout of the step and send it to the nodes.
#pragma once

#include "mapping/request/request.h"
#include "mapping/texts/sent_step.h"
#include "node/verbose_rows.h"
#include "options.h"
#include "slurm/plugstack_arguments.h"
#include "slurm/rank_order.h"
#include "slurm/slurm_options.h"
#include "spank_access.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distgpu {

class SrunSide {
  public:
    // All options are read, those of each component of a heterogeneous step in turn. Order: command
    // line, SLURM_DISTGPU, the allocation's. A bad SPEC, and one that is not that of the components
    // before, is refused here, where a refusal leaves nothing behind. `arguments`: those of the
    // line in plugstack.conf.
    Outcome options_read(const OptionState& option, std::span<const char* const> arguments);

    // The step exists but has not started. Never refuses: srun would leave the
    // step behind, and the next one would find its nodes busy (22.05 and 26.05).
    Outcome step_created(spank_t spank);

    // srun ends, and so has the step.
    Outcome step_ended();

  private:
    std::optional<Error> other_spec(const std::string& spec) const;
    void send_ahead(const std::string& spec, const std::vector<std::string>& command_line,
                    const SlurmOptions& options);
    void set_secret();
    Outcome switch_off(SiteSwitch site_switch, const std::string& spec);
    void take_inherited_ranks();
    void take_replaced_names();
    void take_out(const std::vector<std::string>& names);
    void judge_inherited_ranks(spank_t spank);
    Result<OrderedLayout> order_nodes(StepLayout layout) const;
    void add_layout(SentStep& step, OrderedLayout ordered) const;
    void judge(SentStep& step, const std::string& order, std::vector<std::string> program,
               const SlurmOptions& options);

    std::optional<std::string> spec_;  // nothing: not asked for, so far
    bool runs_unprepared_ = false;     // it was asked for, and the administrator has off=run
    Request request_;
    RankOrder default_order_;       // the administrator's
    HostList order_list_;           // the nodes that the user's order names; empty: none
    bool has_secret_ = false;       // or could draw none
    std::uint32_t components_ = 0;  // of the step, whose options are read
    // Taken out of srun's environment: the ranks of the task in which it was started.
    std::vector<std::pair<std::string, std::string>> inherited_;
    // SLURM_JOB_NAME in the task around srun, and what Slurm calls the job.
    std::optional<std::pair<std::string, std::string>> renamed_;
    // Those of the allocation in which srun was started; 0: in none.
    std::uint32_t allocated_nodes_ = 0;
    bool inherits_ntasks_ = false;  // from it: SLURM_NTASKS
    VerboseRows verbose_rows_;
};

}  // namespace distgpu
