// Compiles only if the declarations in node/nvml.h match NVML's header.
#include "node/nvml.h"
#include "same_signature.h"

#include <cstddef>
#include <nvml.h>

namespace distgpu::scaling {
namespace {

using namespace nvml;

static_assert(same_signature<decltype(Devices::init), decltype(nvmlInit_v2)>);
static_assert(same_signature<decltype(Devices::shutdown), decltype(nvmlShutdown)>);
static_assert(
    same_signature<decltype(Devices::by_pci), decltype(nvmlDeviceGetHandleByPciBusId_v2)>);
static_assert(same_signature<decltype(Devices::max_mig), decltype(nvmlDeviceGetMaxMigDeviceCount)>);
static_assert(
    same_signature<decltype(Devices::mig_by_index), decltype(nvmlDeviceGetMigDeviceHandleByIndex)>);
static_assert(same_signature<decltype(Devices::uuid), decltype(nvmlDeviceGetUUID)>);
static_assert(same_signature<decltype(Devices::name), decltype(nvmlDeviceGetName)>);
static_assert(same_signature<decltype(Devices::memory), decltype(nvmlDeviceGetMemoryInfo)>);
static_assert(
    same_signature<decltype(Devices::utilization), decltype(nvmlDeviceGetUtilizationRates)>);

static_assert(sizeof(Memory) == sizeof(nvmlMemory_t));
static_assert(offsetof(Memory, free) == offsetof(nvmlMemory_t, free));
static_assert(sizeof(Utilization) == sizeof(nvmlUtilization_t));
static_assert(offsetof(Utilization, gpu) == offsetof(nvmlUtilization_t, gpu));
static_assert(success == NVML_SUCCESS);

}  // namespace
}  // namespace distgpu::scaling
