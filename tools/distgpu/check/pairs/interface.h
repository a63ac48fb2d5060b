// A network interface, as the kernel describes it in /sys/class/net.
#pragma once

#include "node/machine.h"

#include <cstdint>
#include <string>

namespace distgpu {

// The speed of its hardware, in bytes per second; 0 if unknown. Of a bond, bridge or VLAN: the
// fastest interface below it, as a stream passes through one of them. Virtual interfaces have none
// (veth states 10 Gb/s whatever it carries), and in a virtual machine the host may limit the
// network to far below what it states.
double interface_speed(const std::string& name, const MachineRoots& roots = {});

// What it has carried since it exists, for all processes. 0 if unknown.
struct InterfaceTraffic {
    std::uint64_t sent = 0;      // bytes
    std::uint64_t received = 0;  // bytes
};
InterfaceTraffic interface_traffic(const std::string& name, const MachineRoots& roots = {});

}  // namespace distgpu
