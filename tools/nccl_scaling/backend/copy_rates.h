// How fast a GPU copies within its memory, and to and from the host's.
#pragma once

#include "backend/gpu.h"
#include "base/result.h"
#include "results/results.h"

#include <cstddef>
#include <span>

namespace distgpu::scaling {

// Between two buffers in GPU memory, whose content is lost; in about 0.1 s, where PCIe is as slow
// as 1 GB/s in 0.5 s.
Result<Rates> copy_rates(const Gpu& gpu, std::span<std::byte> to, const std::byte* from);

}  // namespace distgpu::scaling
