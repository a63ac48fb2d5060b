// Compiles only if what node/nvml.h declares of NVML agrees with its header.
#include "alike_signatures.h"
#include "node/nvml.h"

#include <cstddef>
#include <nvml.h>

namespace distgpu::scaling {
namespace {

using namespace nvml;

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
static_assert(success == NVML_SUCCESS);

}  // namespace
}  // namespace distgpu::scaling
