// What the kernel says of a network port, and what of that is unusual. The counters are those that
// Linux' Documentation/ABI/stable/sysfs-class-infiniband describes; cards for RoCE have them too.
#pragma once

#include "node/machine.h"

#include <cstdint>
#include <string>
#include <vector>

namespace distgpu::scaling {

// At one moment.
struct PortReading {
    HcaPort port;                         // its state and rate
    std::vector<std::uint64_t> counters;  // in an order of their own; 0: not known
};

// `port`: "mlx5_3", or "mlx5_3:2" of a second port.
PortReading read_port(const std::string& port, const MachineRoots& roots);

// "mlx5_3: 14 symbol errors during the run", "mlx5_3: its link is down".
std::vector<std::string> unusual_of_port(const std::string& port, const PortReading& before,
                                         const PortReading& after);

}  // namespace distgpu::scaling
