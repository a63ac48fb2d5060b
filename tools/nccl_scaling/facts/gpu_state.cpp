#include "facts/gpu_state.h"

#include "base/format.h"

#include <array>

namespace distgpu::scaling {
namespace {

// nvml.h, nvmlClocksEventReasons. Not of a GPU that is idle, nor of one whose clocks follow those
// of a group or of a screen. 0x8 stands for 0x40 and 0x80 too, and for a short peak of power.
struct Reason {
    unsigned long long bit;
    const char* words;
};
constexpr std::array reasons{
    Reason{0x2, "the clocks that an administrator has set"},
    Reason{0x4, "its power limit"},
    Reason{0x8, "its hardware's slowdown"},
    Reason{0x20, "its temperature"},
    Reason{0x40, "its temperature (by hardware)"},
    Reason{0x80, "the power supply's brake"},
};

}  // namespace

std::vector<std::string> unusual_of_gpu(const std::string& gpu, const GpuState& state) {
    std::vector<std::string> unusual;
    std::vector<std::string> slowed_by;
    for (const auto& [bit, words] : reasons) {
        if ((state.throttle_reasons & bit) != 0) slowed_by.emplace_back(words);
    }
    if (!state.xids.empty()) {
        unusual.push_back(formatted("{}: Xid {} during the run", gpu, join(state.xids, ", ")));
    }
    if (state.uncorrected_errors > 0) {
        unusual.push_back(formatted("{}: {} since the driver was loaded", gpu,
                                    counted(state.uncorrected_errors, "uncorrected ECC error")));
    }
    if (state.pcie_width < state.greatest_pcie_width && state.pcie_width > 0) {
        unusual.push_back(formatted("{}: PCIe x{}, where x{} is possible", gpu, state.pcie_width,
                                    state.greatest_pcie_width));
    }
    if (state.pcie_generation < state.greatest_pcie_generation && state.pcie_generation > 0) {
        unusual.push_back(formatted("{}: PCIe generation {}, where {} is possible", gpu,
                                    state.pcie_generation, state.greatest_pcie_generation));
    }
    if (!slowed_by.empty()) {
        unusual.push_back(formatted("{}: clocks held down by {}", gpu, join(slowed_by, ", ")));
    }
    return unusual;
}

}  // namespace distgpu::scaling
