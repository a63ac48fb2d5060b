// Every task sees what Slurm gave it, as Slurm named it.
#include "mapping/binding/gpu_policies/registry.h"

namespace distgpu::gpu_policy {

const GpuPolicy keep{.word = "keep"};

}  // namespace distgpu::gpu_policy
