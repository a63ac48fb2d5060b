// The list of policies as data.
#include "mapping/binding/gpu_policies/registry.h"

#include <array>

namespace distgpu {

std::span<const GpuPolicy* const> gpu_policies() {
#define DISTGPU_ADDRESS(name) &(gpu_policy::name),
    static constexpr std::array all{DISTGPU_GPU_POLICIES(DISTGPU_ADDRESS)};
#undef DISTGPU_ADDRESS
    return all;
}

}  // namespace distgpu
