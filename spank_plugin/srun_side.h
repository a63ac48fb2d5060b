// srun, sbatch and salloc: the option --distgpu=SPEC, which they and slurmstepd register; its
// handling in sbatch and salloc; and what srun sends to the nodes.
#pragma once

#include "base/result.h"
#include "mapping/request/request.h"
#include "mapping/texts/sent_step.h"
#include "node/srun_messages.h"
#include "slurm/plugstack_arguments.h"
#include "slurm/rank_order.h"
#include "slurm/slurm_options.h"
#include "spank_access.h"

namespace distgpu {

// ---- The option, and sbatch and salloc (options.cpp)

// The option's callback, which Slurm before 24.05 calls twice. The SPEC is parsed later, but `help`
// is answered at once, because srun would first complain that there is no program.
Outcome store_option(std::optional<std::string>& option, const char* value, bool in_stepd);

// The path of the distgpu command on this host: the administrator's, or else the installed one.
std::string command_path(const PlugstackArguments& site);

// The refusal of `help` in a variable, which would apply to every step.
Error help_variable_error(const char* variable);

class AllocatorSide {
  public:
    // Answers `sbatch --distgpu=help` before sbatch reads its script, which may come from the
    // terminal.
    static Outcome on_init();

    // Called when all options are read, once per component of a heterogeneous job. Refuses a bad
    // SPEC here, before the job is submitted. Slurm itself passes on a SPEC of the command line;
    // one from SBATCH_DISTGPU or SALLOC_DISTGPU is passed on as SLURM_DISTGPU. Warns of a batch
    // script, or a program of salloc, that starts no step.
    // Also of one whose --signal reaches no rank. `arguments`: those of the line in plugstack.conf.
    Outcome on_init_post_opt(const std::optional<std::string>& option,
                             std::span<const char* const> arguments);

  private:
    bool has_warned_ = false;  // all components have the same script
};

// ---- srun (srun_side.cpp, srun_layout.cpp): checks the request before anything starts, then
// derives the layout of the step, or asks slurmctld for it once, and sends it to the nodes.

class SrunSide {
  public:
    // Called before any option is read. In a task whose mode hid Slurm by another SLURM_JOB_NAME,
    // restores the job's name for srun, which reads that variable with the options and sets it
    // again for each component. Also moves a SPEC inherited from the allocation to SLURM_DISTGPU,
    // so that the option's callback gets only that of the command line.
    Outcome on_init();

    // Called when all options are read, once per component of a heterogeneous step. Precedence:
    // command line, SLURM_DISTGPU, the allocation's SPEC. Refuses a bad SPEC, and one that differs
    // from the previous components', here, where a refusal leaves nothing behind. `arguments`:
    // those of the line in plugstack.conf. `components`: of the step, whose options have been read.
    Outcome on_init_post_opt(const std::optional<std::string>& option,
                             std::span<const char* const> arguments, std::uint32_t components);

    // Called when the step exists but has not started. Never refuses: srun would leave the step
    // behind, and the next one would find its nodes busy (22.05 and 26.05).
    // `plugin_file`: the path of this plugin, as Slurm found it.
    Outcome on_local_user_init(spank_t spank, const char* plugin_file);

    // Called when srun ends, after the step has ended.
    Outcome on_exit();

  private:
    void set_request_variables(const std::string& spec);
    Outcome switch_off(SiteSwitch site_switch, const std::string& spec);
    void remove_inherited_ranks();
    void restore_or_report_inherited_ranks(spank_t spank);
    Result<StepLayout> find_layout(spank_t spank, SentStep& step) const;
    Result<OrderedLayout> order_nodes(StepLayout layout) const;
    void add_layout(SentStep& step, OrderedLayout ordered) const;
    void find_addresses(SentStep& step, const HostList& hosts, NodeIndex rank0) const;
    void check_and_announce(SentStep& step, const std::string& order,
                            std::vector<std::string> program);
    void listen_to_nodes(spank_t spank, const SentStep& step, std::vector<std::string> program);

    std::optional<std::string> spec_;  // nullopt while no component has a SPEC
    bool runs_unprepared_ = false;     // requested, but the administrator has set off=run
    Request request_;
    std::vector<std::string> command_line_;  // srun's own
    SlurmOptions options_;                   // on it
    RankOrder default_order_;                // the administrator's
    HostList order_list_;                    // the nodes that the user's order names; empty if none
    bool tried_secret_ = false;              // has drawn the secret, or failed to
    std::uint32_t components_ = 0;           // of the step, whose options have been read
    // Rank variables of the task in which srun was started, removed from srun's environment.
    std::vector<std::pair<std::string, std::string>> inherited_;
    std::optional<std::string> task_job_name_;  // that task's SLURM_JOB_NAME, if a mode replaced it
    std::uint32_t allocated_nodes_ = 0;         // of the allocation around srun; 0 if there is none
    bool inherits_ntasks_ = false;              // SLURM_NTASKS comes from that allocation
    bool asks_slurmctld_ = false;               // also where the answer can be derived
    std::string command_;                       // path of distgpu on this host
    std::string run_report_;                    // the file of `distgpu run`; empty without it
    SrunListener listener_;
};

}  // namespace distgpu
