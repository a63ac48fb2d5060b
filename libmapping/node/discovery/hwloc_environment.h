// hwloc's own environment variables, which must not decide what distgpu sees.
#pragma once

namespace distgpu {

// To be called before hwloc is.
void take_hwloc_environment();

}  // namespace distgpu
