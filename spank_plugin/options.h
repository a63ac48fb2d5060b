// The option --distgpu=SPEC in every context where Slurm asks for it, and what sbatch and salloc do
// about it: check the request and hand it on to the steps of the job.
#pragma once

#include "base/result.h"
#include "spank_access.h"

#include <optional>
#include <string>

namespace distgpu {

// The SPEC that the command line gave, as far as Slurm has called back.
struct OptionState {
    std::optional<std::string> spec;
};

// Registers the option (needed in srun, sbatch, salloc and stepd alike). In
// srun it also moves a SPEC inherited from the allocation to SLURM_DISTGPU, so that
// what the callback gets there is the command line's alone. `sbatch --distgpu=help` is
// answered here: sbatch reads its script, from the terminal if need be, before
// it calls back.
Outcome register_option(spank_t spank, spank_opt_cb_f callback);

// Prints the help and ends srun, sbatch or salloc. Never called in stepd.
[[noreturn]] void print_help_and_exit();

// The option's callback. Slurm before 24.05 calls it twice. The
// SPEC is judged later, but `help` is answered at once: srun without a program
// would complain before.
Outcome take_option(OptionState& state, const char* value, bool in_stepd);

// Refuses a question in a variable, which would be asked of every step.
Error help_by_variable(const char* variable);

class AllocatorSide {
  public:
    // All options are read, those of each component of a heterogeneous job in turn. A bad SPEC is
    // refused here, before the job is submitted. Slurm itself hands a SPEC of the command line on;
    // one from SBATCH_DISTGPU or SALLOC_DISTGPU travels as SLURM_DISTGPU. Warns of a batch script,
    // or a program of salloc's, that starts no step.
    Outcome options_read(const OptionState& option);

  private:
    bool warned_ = false;  // the components have one script
};

}  // namespace distgpu
