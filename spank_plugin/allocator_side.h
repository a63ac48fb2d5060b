// sbatch and salloc: check the request and hand it on to the steps of the job.
#pragma once

#include "options.h"

namespace distgpu {

// Called once all options are read. A bad SPEC is refused here, before the job
// is submitted. Slurm itself hands a SPEC of the command line on; one from
// SBATCH_DISTGPU or SALLOC_DISTGPU travels as SLURM_DISTGPU.
Outcome hand_on_to_job(const OptionState& option);

}  // namespace distgpu
