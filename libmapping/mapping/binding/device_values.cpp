// See device_values.h.
#include "mapping/binding/device_values.h"

#include "mapping/binding/binding_policy.h"
#include "mapping/binding/network_values.h"
#include "mapping/binding/visible_gpus.h"

namespace distgpu {

std::vector<DeviceValues> device_values(const Request& request, const NodeFacts& node,
                                        const NodeBinding* binding, std::uint32_t tasks,
                                        std::uint32_t step_nodes) {
    const bool near_hcas = binding_policy(request, node).near_hcas;
    std::vector<DeviceValues> values(tasks);
    for (DeviceValues& task : values) {
        if (near_hcas && step_nodes > 1) task.interface = node.interface;
    }
    if (binding == nullptr) return values;
    set_visible_gpus(request, node, *binding, values);
    if (near_hcas) set_ports(request, node, *binding, values);
    return values;
}

}  // namespace distgpu
