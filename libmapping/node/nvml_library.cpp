#include "node/nvml_library.h"

#include "base/io/shared_library.h"

namespace distgpu::nvml {
namespace {

void resolve(SharedLibrary& library, Devices& of) {
    library.resolve(of.init, "nvmlInit_v2");
    library.resolve(of.shutdown, "nvmlShutdown");
    library.resolve(of.by_pci, "nvmlDeviceGetHandleByPciBusId_v2");
    library.resolve(of.max_mig, "nvmlDeviceGetMaxMigDeviceCount");
    library.resolve(of.mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex");
    library.resolve(of.uuid, "nvmlDeviceGetUUID");
    library.resolve(of.name, "nvmlDeviceGetName");
    library.resolve(of.memory, "nvmlDeviceGetMemoryInfo");
    library.resolve(of.utilization, "nvmlDeviceGetUtilizationRates");
}

void resolve(SharedLibrary& library, Health& of) {
    library.resolve(of.init, "nvmlInit_v2");
    library.resolve(of.device_by_uuid, "nvmlDeviceGetHandleByUUID");
    library.resolve(of.create_event_set, "nvmlEventSetCreate");
    library.resolve(of.register_events, "nvmlDeviceRegisterEvents");
    library.resolve(of.wait_for_event, "nvmlEventSetWait_v2");
    library.resolve(of.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    library.resolve(of.ecc_errors, "nvmlDeviceGetTotalEccErrors");
    library.resolve(of.pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
    library.resolve(of.greatest_pcie_generation, "nvmlDeviceGetMaxPcieLinkGeneration");
    library.resolve(of.pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
    library.resolve(of.greatest_pcie_width, "nvmlDeviceGetMaxPcieLinkWidth");
}

}  // namespace

template <class Functions>
std::optional<Functions> load(const std::string& file) {
    auto library = SharedLibrary::load(file.c_str(), "");
    if (!library) return std::nullopt;
    Functions functions{};
    resolve(*library, functions);
    return library->missing().empty() ? std::optional(functions) : std::nullopt;
}
template std::optional<Devices> load(const std::string& file);
template std::optional<Health> load(const std::string& file);

}  // namespace distgpu::nvml
