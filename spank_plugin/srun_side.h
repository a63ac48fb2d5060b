// srun, sbatch and salloc: the option --distgpu=SPEC, which they and slurmstepd register; what
// sbatch and salloc do about it; and what srun sends to the nodes.
#pragma once

#include "base/result.h"
#include "mapping/request/request.h"
#include "mapping/texts/sent_step.h"
#include "node/verbose_rows.h"
#include "slurm/plugstack_arguments.h"
#include "slurm/rank_order.h"
#include "slurm/slurm_options.h"
#include "spank_access.h"

namespace distgpu {

// ---- The option, and sbatch and salloc (options.cpp)

// Registers the option, which srun, sbatch, salloc and stepd need alike. In srun it also moves a
// SPEC inherited from the allocation to SLURM_DISTGPU, so that the callback gets the command line's
// alone. It answers `sbatch --distgpu=help` before sbatch reads its script, maybe from the
// terminal.
Outcome register_option(spank_t spank, spank_opt_cb_f callback);

// The option's callback, which Slurm before 24.05 calls twice. The SPEC is judged later, but `help`
// is answered at once: srun without a program would complain before.
Outcome take_option(std::optional<std::string>& option, const char* value, bool in_stepd);

// Refuses a question in a variable, which would be asked of every step.
Error help_by_variable(const char* variable);

class AllocatorSide {
  public:
    // All options are read, those of each component of a heterogeneous job in turn. A bad SPEC is
    // refused here, before the job is submitted. Slurm itself hands a SPEC of the command line on;
    // one from SBATCH_DISTGPU or SALLOC_DISTGPU travels as SLURM_DISTGPU. Warns of a batch script,
    // or a program of salloc's, that starts no step.
    Outcome options_read(const std::optional<std::string>& option);

  private:
    bool warned_ = false;  // the components have one script
};

// ---- srun (srun_side.cpp): judges the request before anything starts, then asks slurmctld once
// for the layout of the step and sends it to the nodes.

class SrunSide {
  public:
    // No option is read yet. In a task whose SLURM_JOB_NAME hides Slurm, srun gets the job's name
    // back: it reads that variable with the options and sets it again for each component.
    void started();

    // All options are read, those of each component of a heterogeneous step in turn. Order: command
    // line, SLURM_DISTGPU, the allocation's. A bad SPEC, and one that is not that of the components
    // before, is refused here, where a refusal leaves nothing behind. `arguments`: those of the
    // line in plugstack.conf.
    Outcome options_read(const std::optional<std::string>& option,
                         std::span<const char* const> arguments);

    // The step exists but has not started. Never refuses: srun would leave the
    // step behind, and the next one would find its nodes busy (22.05 and 26.05).
    Outcome step_created(spank_t spank);

    // srun ends, and so has the step.
    Outcome step_ended();

  private:
    void send_ahead(const std::string& spec, const std::vector<std::string>& command_line,
                    const SlurmOptions& options);
    Outcome switch_off(SiteSwitch site_switch, const std::string& spec);
    void take_inherited_ranks();
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
    std::optional<std::string> tasks_job_name_;  // SLURM_JOB_NAME there, where it hid Slurm
    // Those of the allocation in which srun was started; 0: in none.
    std::uint32_t allocated_nodes_ = 0;
    bool inherits_ntasks_ = false;  // from it: SLURM_NTASKS
    VerboseRows verbose_rows_;
};

}  // namespace distgpu
