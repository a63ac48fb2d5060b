#include "mapping/plan/listening_ports.h"

#include "base/format.h"
#include "mapping/plan/ranks.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace distgpu {

RendezvousNeeds rendezvous_needs(const Framework& framework, const StepLayout& layout) {
    const std::uint32_t most = layout.max_tasks_per_node();
    const std::uint32_t ports = framework.port_per_task ? most : framework.ports;
    return {layout.hosts().name(rank0_node(layout)), std::max(1U, ports), most};
}

std::optional<Error> past_the_last_port(const Rendezvous& meeting_point, std::uint32_t needed) {
    constexpr std::uint32_t last = std::numeric_limits<std::uint16_t>::max();
    if (needed <= 1 || meeting_point.port + (needed - 1) <= last) return std::nullopt;
    return Error{formatted("port {} (from {})", meeting_point.port, source_of_port(meeting_point)),
                 formatted("{} consecutive ports are needed from here", needed),
                 formatted("give one up to {} with --distgpu=...,port=N", last - needed + 1)};
}

std::vector<std::uint16_t> ports_on(const Framework& framework, const StepLayout& layout,
                                    NodeIndex node, std::uint16_t first) {
    std::uint32_t count = 0;
    if (framework.port_per_task) {
        count = layout.tasks_on(node);
    } else if (framework.ports_on_all_nodes || node == rank0_node(layout)) {
        count = framework.ports;
    }
    std::vector<std::uint16_t> ports(count);
    std::iota(ports.begin(), ports.end(), first);
    return ports;
}

}  // namespace distgpu
