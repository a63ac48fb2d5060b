// What is used of NVML, NVIDIA's library for the state of GPUs. Declared here, since programs are
// built without its header and run without its library. Values and signatures: NVML API Reference
// Guide, nvml.h 12.9; that calls the _v2 functions by the plain name. The name with "Throttle" is
// the one that drivers before 535 have too.
#pragma once

#include <optional>
#include <string>

namespace distgpu::nvml {

using Status = int;  // nvmlReturn_t
using Device = void*;
using EventSet = void*;

inline constexpr const char* file_name = "libnvidia-ml.so.1";
inline constexpr Status success = 0;
inline constexpr int uncorrected = 1;                    // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
inline constexpr int since_driver_load = 0;              // NVML_VOLATILE_ECC
inline constexpr unsigned long long xid_critical = 0x8;  // nvmlEventTypeXidCriticalError

// nvmlMemory_t
struct Memory {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

// nvmlUtilization_t, in percent
struct Utilization {
    unsigned gpu;
    unsigned memory;
};

struct Event {
    Device device;
    unsigned long long type;
    unsigned long long data;  // the Xid
    unsigned gpu_instance;
    unsigned compute_instance;
};

// What GPUs are and have in use.
struct Devices {
    Status (*init)();
    Status (*shutdown)();
    Status (*by_pci)(const char* address, Device* device);
    Status (*max_mig)(Device device, unsigned* count);
    Status (*mig_by_index)(Device device, unsigned index, Device* instance);
    Status (*uuid)(Device device, char* text, unsigned size);
    Status (*name)(Device device, char* text, unsigned size);
    Status (*memory)(Device device, Memory* memory);
    Status (*utilization)(Device device, Utilization* percent);
};

// How well a GPU is.
struct Health {
    Status (*init)();
    Status (*device_by_uuid)(const char* uuid, Device* device);
    Status (*create_event_set)(EventSet* set);
    Status (*register_events)(Device device, unsigned long long types, EventSet set);
    Status (*wait_for_event)(EventSet set, Event* event, unsigned milliseconds);
    Status (*throttle_reasons)(Device device, unsigned long long* reasons);
    Status (*ecc_errors)(Device device, int type, int counter, unsigned long long* count);
    Status (*pcie_generation)(Device device, unsigned* generation);
    Status (*greatest_pcie_generation)(Device device, unsigned* generation);
    Status (*pcie_width)(Device device, unsigned* lanes);
    Status (*greatest_pcie_width)(Device device, unsigned* lanes);
};

// One of these two. Nothing: the library is not there, or lacks one of its functions.
template <class Functions>
std::optional<Functions> load(const std::string& file = file_name);

}  // namespace distgpu::nvml
