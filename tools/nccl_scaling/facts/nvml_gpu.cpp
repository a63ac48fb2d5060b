// What NVML does not tell stays 0; its handles go with the process.
#include "facts/nvml_gpu.h"

#include <algorithm>

namespace distgpu::scaling {

std::optional<NvmlGpu> NvmlGpu::open(const std::string& uuid) {
    if (uuid.empty()) return std::nullopt;
    const auto library = nvml::load<nvml::Health>();
    nvml::Device device = nullptr;
    if (!library || library->init() != nvml::success ||
        library->device_by_uuid(uuid.c_str(), &device) != nvml::success) {
        return std::nullopt;
    }
    return NvmlGpu(*library, device);
}

NvmlGpu::NvmlGpu(const nvml::Health& library, nvml::Device device)
    : library_(library), device_(device) {
    nvml::EventSet set = nullptr;
    if (library_.create_event_set(&set) == nvml::success &&
        library_.register_events(device_, nvml::xid_critical, set) == nvml::success) {
        xids_ = set;
    }
}

GpuState NvmlGpu::state() const {
    GpuState state;
    library_.throttle_reasons(device_, &state.throttle_reasons);
    library_.ecc_errors(device_, nvml::uncorrected, nvml::since_driver_load,
                        &state.uncorrected_errors);
    library_.pcie_generation(device_, &state.pcie_generation);
    library_.greatest_pcie_generation(device_, &state.greatest_pcie_generation);
    library_.pcie_width(device_, &state.pcie_width);
    library_.greatest_pcie_width(device_, &state.greatest_pcie_width);
    constexpr int most = 64;  // a broken GPU may tell them faster than they are read
    nvml::Event event{};
    for (int i = 0; i < most && xids_ != nullptr; ++i) {
        if (library_.wait_for_event(xids_, &event, 0) != nvml::success) break;
        const bool known =
            std::find(state.xids.begin(), state.xids.end(), event.data) != state.xids.end();
        if (!known) state.xids.push_back(event.data);
    }
    return state;
}

}  // namespace distgpu::scaling
