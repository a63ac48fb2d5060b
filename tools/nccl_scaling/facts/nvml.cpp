// See nvml.h.
#include "facts/nvml.h"

#include "base/io/shared_library.h"

namespace distgpu::scaling::nvml {

std::optional<Library> load_library() {
    auto file = SharedLibrary::load("libnvidia-ml.so.1", "");
    if (!file) return std::nullopt;
    Library library{};
    file->resolve(library.init, "nvmlInit_v2");
    file->resolve(library.device_by_uuid, "nvmlDeviceGetHandleByUUID");
    file->resolve(library.create_event_set, "nvmlEventSetCreate");
    file->resolve(library.register_events, "nvmlDeviceRegisterEvents");
    file->resolve(library.wait_for_event, "nvmlEventSetWait_v2");
    file->resolve(library.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    file->resolve(library.ecc_errors, "nvmlDeviceGetTotalEccErrors");
    file->resolve(library.pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
    file->resolve(library.greatest_pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
    file->resolve(library.pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
    file->resolve(library.greatest_pcie_width, "nvmlDeviceGetMaxPcieLinkWidth");
    return file->missing().empty() ? std::optional(library) : std::nullopt;
}

}  // namespace distgpu::scaling::nvml
