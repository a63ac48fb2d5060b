// sbatch and salloc: check the request and hand it on to the steps of the job.
#pragma once

#include "options.h"

namespace distgpu {

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
