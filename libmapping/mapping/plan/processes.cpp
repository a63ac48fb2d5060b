#include "mapping/plan/processes.h"

#include "mapping/frameworks/framework.h"

#include <algorithm>

namespace distgpu {

std::uint32_t processes_on(const Request& request, const NodeFacts& node) {
    return request.nproc.value_or(node.gpus > 0 ? node.gpus : node.cpus);
}

std::uint32_t cpus_of_each(const NodeFacts& node, std::uint32_t local_tasks) {
    const std::uint32_t share = node.cpus / local_tasks;
    std::uint32_t most = 0;
    for (const CpuSet& mask : node.share.masks) most = std::max(most, mask.count());
    return most == 0 ? share : std::min(share, most);
}

std::uint32_t threads(const Request& request, const NodeFacts& node, std::uint32_t local_tasks,
                      const CpuSet* cpus_of_task) {
    if (request.keep_omp || request.framework->chooses_threads) return 0;
    std::uint32_t cpus = node.cpus_per_task;
    if (cpus <= 1) {
        // Slurm counts one CPU per task where none was asked for: then the task's share of the
        // node, within the CPUs on which it runs.
        cpus = node.cpus / local_tasks;
        if (cpus_of_task != nullptr) cpus = std::min(cpus, cpus_of_task->count());
    }
    if (request.framework->launcher_per_node) cpus /= processes_on(request, node);
    return std::max(cpus, 1U);
}

}  // namespace distgpu
