// A rank's GPU as NVML knows it.
#pragma once

#include "facts/gpu_state.h"
#include "node/nvml_library.h"

#include <optional>
#include <string>

namespace distgpu::scaling {

class NvmlGpu {
  public:
    // From here on its Xids are noted. Nothing: NVML is not there, or does not know the GPU.
    // `uuid`: "GPU-...".
    static std::optional<NvmlGpu> open(const std::string& uuid);

    // To be asked right after work: an idle GPU lowers the generation of its PCIe link.
    GpuState state() const;

  private:
    NvmlGpu(const nvml::Health& library, nvml::Device device);

    nvml::Health library_;
    nvml::Device device_;
    nvml::EventSet xids_ = nullptr;  // null: they are not told
};

}  // namespace distgpu::scaling
