#include "node/discovery/hwloc_version.h"

namespace distgpu::discovery {
namespace {

std::string text(const char* value) {
    return value == nullptr ? "" : value;
}

}  // namespace

#if HWLOC_API_VERSION >= 0x00030000

bool is_openfabrics(hwloc_obj_t os_device) {
    return (os_device->attr->osdev.types & HWLOC_OBJ_OSDEV_OPENFABRICS) != 0;
}

bool is_network(hwloc_obj_t os_device) {
    return (os_device->attr->osdev.types & HWLOC_OBJ_OSDEV_NETWORK) != 0;
}

std::string machine_info(hwloc_topology_t topology, const char* name) {
    return text(hwloc_get_info_by_name(hwloc_topology_get_infos(topology), name));
}

unsigned long latency_kind() {
    return HWLOC_DISTANCES_KIND_VALUE_LATENCY;
}

#else

bool is_openfabrics(hwloc_obj_t os_device) {
    return os_device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
}

bool is_network(hwloc_obj_t os_device) {
    return os_device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK;
}

std::string machine_info(hwloc_topology_t topology, const char* name) {
    return text(hwloc_obj_get_info_by_name(hwloc_get_root_obj(topology), name));
}

unsigned long latency_kind() {
    return HWLOC_DISTANCES_KIND_MEANS_LATENCY;
}

#endif

unsigned hwloc_major() {
    return hwloc_get_api_version() >> 16U;
}

}  // namespace distgpu::discovery
