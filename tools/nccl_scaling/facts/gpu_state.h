// The state of a GPU at the end of the run, and what of it is unusual.
#pragma once

#include <string>
#include <vector>

namespace distgpu::scaling {

// As NVML has it. 0: not known.
struct GpuState {
    unsigned long long throttle_reasons = 0;    // bits: what keeps the clocks low
    unsigned long long uncorrected_errors = 0;  // of ECC, since the driver was loaded
    unsigned pcie_generation = 0;
    unsigned greatest_pcie_generation = 0;  // of the GPU in its slot
    unsigned pcie_width = 0;
    unsigned greatest_pcie_width = 0;
    std::vector<unsigned long long> xids;  // of the run, in their order
};

// `gpu`: "GPU 3". "GPU 3: PCIe x8, where x16 is possible", "GPU 3: Xid 79 during the run".
std::vector<std::string> unusual_of_gpu(const std::string& gpu, const GpuState& state);

}  // namespace distgpu::scaling
