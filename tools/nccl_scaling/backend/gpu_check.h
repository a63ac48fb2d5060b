// Writes and compares known data in GPU memory (see repeated.h).
#pragma once

#include "backend/gpu.h"
#include "backend/repeated.h"
#include "base/result.h"

#include <cstddef>
#include <memory>
#include <optional>

namespace distgpu::scaling {

class GpuCheck {
  public:
    GpuCheck() = default;
    GpuCheck(const GpuCheck&) = delete;
    GpuCheck& operator=(const GpuCheck&) = delete;
    virtual ~GpuCheck() = default;

    virtual std::optional<Error> fill(std::byte* to, std::size_t bytes,
                                      const Repeated& content) = 0;
    virtual Result<std::optional<std::size_t>> first_difference(const std::byte* data,
                                                                std::size_t bytes,
                                                                const Repeated& content) = 0;
};

// By kernels on the GPU, which outlives this. Errors: built without CUDA; a GPU or a driver for
// which the build has no kernel. Of tables of at most 64 KiB, and 32 GiB at a time.
Result<std::unique_ptr<GpuCheck>> check_on_gpu(const Gpu& gpu);

// By the CPUs, to which the data is copied in tiles.
std::unique_ptr<GpuCheck> check_on_host(const Gpu& gpu);

}  // namespace distgpu::scaling
