// Compiles only if what node/nvml_library.h declares of NVML agrees with its header.
#include "alike_signatures.h"
#include "node/nvml_library.h"

#include <cstddef>
#include <nvml.h>

namespace distgpu::scaling {
namespace {

using namespace nvml;

static_assert(alike_signatures<decltype(Health::init), decltype(nvmlInit_v2)>);
static_assert(
    alike_signatures<decltype(Health::device_by_uuid), decltype(nvmlDeviceGetHandleByUUID)>);
static_assert(alike_signatures<decltype(Health::create_event_set), decltype(nvmlEventSetCreate)>);
static_assert(
    alike_signatures<decltype(Health::register_events), decltype(nvmlDeviceRegisterEvents)>);
static_assert(alike_signatures<decltype(Health::wait_for_event), decltype(nvmlEventSetWait_v2)>);
static_assert(alike_signatures<decltype(Health::throttle_reasons),
                               decltype(nvmlDeviceGetCurrentClocksThrottleReasons)>);
static_assert(
    alike_signatures<decltype(Health::ecc_errors), decltype(nvmlDeviceGetTotalEccErrors)>);
static_assert(alike_signatures<decltype(Health::pcie_generation),
                               decltype(nvmlDeviceGetCurrPcieLinkGeneration)>);
static_assert(alike_signatures<decltype(Health::greatest_pcie_generation),
                               decltype(nvmlDeviceGetMaxPcieLinkGeneration)>);
static_assert(
    alike_signatures<decltype(Health::pcie_width), decltype(nvmlDeviceGetCurrPcieLinkWidth)>);
static_assert(alike_signatures<decltype(Health::greatest_pcie_width),
                               decltype(nvmlDeviceGetMaxPcieLinkWidth)>);

static_assert(alike_signatures<decltype(Devices::init), decltype(nvmlInit_v2)>);
static_assert(alike_signatures<decltype(Devices::shutdown), decltype(nvmlShutdown)>);
static_assert(
    alike_signatures<decltype(Devices::by_pci), decltype(nvmlDeviceGetHandleByPciBusId_v2)>);
static_assert(
    alike_signatures<decltype(Devices::max_mig), decltype(nvmlDeviceGetMaxMigDeviceCount)>);
static_assert(alike_signatures<decltype(Devices::mig_by_index),
                               decltype(nvmlDeviceGetMigDeviceHandleByIndex)>);
static_assert(alike_signatures<decltype(Devices::uuid), decltype(nvmlDeviceGetUUID)>);
static_assert(alike_signatures<decltype(Devices::name), decltype(nvmlDeviceGetName)>);
static_assert(alike_signatures<decltype(Devices::memory), decltype(nvmlDeviceGetMemoryInfo)>);
static_assert(
    alike_signatures<decltype(Devices::utilization), decltype(nvmlDeviceGetUtilizationRates)>);

static_assert(sizeof(Memory) == sizeof(nvmlMemory_t));
static_assert(offsetof(Memory, free) == offsetof(nvmlMemory_t, free));
static_assert(sizeof(Utilization) == sizeof(nvmlUtilization_t));
static_assert(offsetof(Utilization, gpu) == offsetof(nvmlUtilization_t, gpu));
static_assert(sizeof(Event) == sizeof(nvmlEventData_t));
static_assert(alike<decltype(Event::data), decltype(nvmlEventData_t::eventData)>);
static_assert(offsetof(Event, data) == offsetof(nvmlEventData_t, eventData));
static_assert(success == NVML_SUCCESS);
static_assert(uncorrected == NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
static_assert(since_driver_load == NVML_VOLATILE_ECC);
static_assert(xid_critical == nvmlEventTypeXidCriticalError);

// The bits of gpu_state.cpp.
static_assert(nvmlClocksThrottleReasonApplicationsClocksSetting == 0x2);
static_assert(nvmlClocksThrottleReasonSwPowerCap == 0x4);
static_assert(nvmlClocksThrottleReasonHwSlowdown == 0x8);
static_assert(nvmlClocksThrottleReasonSwThermalSlowdown == 0x20);
static_assert(nvmlClocksThrottleReasonHwThermalSlowdown == 0x40);
static_assert(nvmlClocksThrottleReasonHwPowerBrakeSlowdown == 0x80);

}  // namespace
}  // namespace distgpu::scaling
