// Compiles only if what facts/nvml.h declares of NVML agrees with its header.
#include "alike_signatures.h"
#include "facts/nvml.h"

#include <cstddef>
#include <nvml.h>

namespace distgpu::scaling::nvml {
namespace {

static_assert(alike_signatures<decltype(Library::init), decltype(nvmlInit_v2)>);
static_assert(
    alike_signatures<decltype(Library::device_by_uuid), decltype(nvmlDeviceGetHandleByUUID)>);
static_assert(alike_signatures<decltype(Library::create_event_set), decltype(nvmlEventSetCreate)>);
static_assert(
    alike_signatures<decltype(Library::register_events), decltype(nvmlDeviceRegisterEvents)>);
static_assert(alike_signatures<decltype(Library::wait_for_event), decltype(nvmlEventSetWait_v2)>);
static_assert(alike_signatures<decltype(Library::throttle_reasons),
                               decltype(nvmlDeviceGetCurrentClocksThrottleReasons)>);
static_assert(
    alike_signatures<decltype(Library::ecc_errors), decltype(nvmlDeviceGetTotalEccErrors)>);
static_assert(alike_signatures<decltype(Library::pcie_generation),
                               decltype(nvmlDeviceGetCurrPcieLinkGeneration)>);
static_assert(alike_signatures<decltype(Library::greatest_pcie_generation),
                               decltype(nvmlDeviceGetMaxPcieLinkGeneration)>);
static_assert(
    alike_signatures<decltype(Library::pcie_width), decltype(nvmlDeviceGetCurrPcieLinkWidth)>);
static_assert(alike_signatures<decltype(Library::greatest_pcie_width),
                               decltype(nvmlDeviceGetMaxPcieLinkWidth)>);

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
}  // namespace distgpu::scaling::nvml
