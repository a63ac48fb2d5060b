// The list of policies for GPUs. Adding one: its file here and its row below.
#pragma once

#include "mapping/binding/gpu_policies/gpu_policy.h"

// One row a policy: the name of its record, of its file and its word.
#define DISTGPU_GPU_POLICIES(ROW) \
    ROW(near)                     \
    ROW(isolate)                  \
    ROW(keep)

namespace distgpu::gpu_policy {

#define DISTGPU_DECLARE(name) extern const GpuPolicy name;
DISTGPU_GPU_POLICIES(DISTGPU_DECLARE)
#undef DISTGPU_DECLARE

}  // namespace distgpu::gpu_policy
