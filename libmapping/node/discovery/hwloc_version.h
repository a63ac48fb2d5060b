// The only file pair that knows what hwloc's releases 2.2 to 3.0 call differently.
#pragma once

#include <hwloc.h>

#include <string>

namespace distgpu::discovery {

bool is_openfabrics(hwloc_obj_t os_device);
bool is_network(hwloc_obj_t os_device);

// "HostName" and what else hwloc says of the machine as a whole; empty: it does not.
std::string machine_info(hwloc_topology_t topology, const char* name);

// The kind of the distances between NUMA nodes that the firmware tells (its SLIT).
unsigned long latency_kind();

// 2 or 3.
unsigned hwloc_major();

}  // namespace distgpu::discovery
