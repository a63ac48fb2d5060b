// Who gets what: GPUs first, then the CPUs near them, then a port near the GPU.
#include "mapping/binding/assignment.h"
#include "mapping/binding/binding.h"
#include "mapping/binding/cpu_shares.h"
#include "mapping/binding/locality.h"
#include "mapping/topology/port_verdicts.h"

#include <algorithm>
#include <map>

namespace distgpu {
namespace {

using GpuLists = std::vector<std::vector<std::uint32_t>>;  // by local rank

// In PCI order, task after task.
GpuLists share_in_order(const std::vector<std::uint32_t>& gpus, std::size_t tasks) {
    GpuLists lists(tasks);
    for (std::size_t task = 0; task < tasks && !gpus.empty(); ++task) {
        const std::size_t begin = task * gpus.size() / tasks;
        const std::size_t end = std::max(begin + 1, (task + 1) * gpus.size() / tasks);
        lists[task].assign(gpus.begin() + static_cast<std::ptrdiff_t>(begin),
                           gpus.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return lists;
}

// By least total distance from the tasks' masks.
GpuLists share_by_distance(const Locality& locality, const std::vector<std::uint32_t>& gpus,
                           const std::vector<CpuSet>& masks) {
    const bool gpus_are_dealt = masks.size() <= gpus.size();
    const std::size_t items = gpus_are_dealt ? gpus.size() : masks.size();
    const std::size_t owners = gpus_are_dealt ? masks.size() : gpus.size();
    std::vector<std::vector<std::int64_t>> costs(items, std::vector<std::int64_t>(owners));
    for (std::size_t item = 0; item < items; ++item) {
        for (std::size_t owner = 0; owner < owners; ++owner) {
            costs[item][owner] = gpus_are_dealt ? locality.distance(masks[owner], gpus[item])
                                                : locality.distance(masks[item], gpus[owner]);
        }
    }
    const std::vector<std::uint32_t> owner_of = assign(costs);
    GpuLists lists(masks.size());
    for (std::size_t item = 0; item < items; ++item) {
        if (gpus_are_dealt) {
            lists[owner_of[item]].push_back(gpus[item]);
        } else {
            lists[item].push_back(gpus[owner_of[item]]);
        }
    }
    return lists;
}

// By local rank. `one_mask`: all tasks have the same.
GpuLists share_gpus(const Locality& locality, const std::vector<std::uint32_t>& gpus,
                    const SlurmShare& share, bool one_mask) {
    if (!share.bound.empty()) return share.bound;
    if (gpus.empty() || one_mask) return share_in_order(gpus, share.masks.size());
    return share_by_distance(locality, gpus, share.masks);
}

void nearest_first(const Locality& locality, TaskBinding& task) {
    std::stable_sort(task.gpus.begin(), task.gpus.end(), [&](std::uint32_t a, std::uint32_t b) {
        return locality.distance(task.cpus, a) < locality.distance(task.cpus, b);
    });
}

// Every task's first GPU in the place of its local rank; the others behind them.
std::vector<std::uint32_t> gpu_order(const std::vector<std::uint32_t>& gpus,
                                     const std::vector<TaskBinding>& tasks) {
    if (tasks.size() > gpus.size()) return gpus;
    std::vector<std::uint32_t> order;
    order.reserve(gpus.size());
    for (const TaskBinding& task : tasks) order.push_back(task.gpus.front());
    for (const std::uint32_t gpu : gpus) {
        if (std::find(order.begin(), order.end(), gpu) == order.end()) order.push_back(gpu);
    }
    return order;
}

std::vector<PortRef> eligible_ports(const NodeTopology& topology) {
    std::vector<PortRef> ports;
    const auto verdicts = port_verdicts(topology);
    for (std::uint32_t hca = 0; hca < verdicts.size(); ++hca) {
        // NCCL and UCX name verbs devices only.
        if (topology.hcas[hca].kind != HcaKind::verbs) continue;
        for (std::uint32_t port = 0; port < verdicts[hca].size(); ++port) {
            if (verdicts[hca][port].eligible) ports.push_back({hca, port});
        }
    }
    return ports;
}

Distance port_distance(const NodeTopology& topology, const TaskBinding& task, std::uint32_t hca) {
    if (!task.gpus.empty()) return topology.distances[task.gpus.front()][hca];
    const CpuSet& near = topology.hcas[hca].cpus;
    return near.empty() || near.intersects(task.cpus) ? Distance::node : Distance::sys;
}

// Equally near ports are dealt in turn.
void deal_ports(const NodeTopology& topology, std::vector<TaskBinding>& tasks) {
    const std::vector<PortRef> ports = eligible_ports(topology);
    if (ports.empty()) return;
    std::map<std::vector<PortRef>, std::size_t> dealt;
    for (TaskBinding& task : tasks) {
        std::vector<PortRef> nearest;
        for (const PortRef port : ports) {
            const Distance distance = port_distance(topology, task, port.hca);
            if (distance < task.port_distance) {
                nearest.clear();
                task.port_distance = distance;
            }
            if (distance == task.port_distance) nearest.push_back(port);
        }
        const std::size_t turn = dealt[nearest]++;
        task.port = nearest[turn % nearest.size()];
    }
}

}  // namespace

NodeBinding bind(const NodeTopology& topology, const BindingPolicy& policy,
                 const SlurmShare& share) {
    const Locality locality(topology);
    std::vector<std::uint32_t> gpus = share.gpus;
    std::sort(gpus.begin(), gpus.end());
    const CpuSet& mask = share.masks.front();
    const bool one_mask = std::all_of(share.masks.begin(), share.masks.end(),
                                      [&](const CpuSet& other) { return other == mask; });
    GpuLists lists = share_gpus(locality, gpus, share, one_mask);
    // A mask with other CPUs than the topology's: it is not this node's.
    const bool divides = policy.near_cpus && one_mask && locality.all().contains(mask);
    const std::vector<CpuSet> cpus =
        divides ? divide_cpus(topology, locality, mask, lists, share.cpus_per_task) : share.masks;

    NodeBinding node;
    for (std::size_t task = 0; task < cpus.size(); ++task) {
        node.tasks.push_back({cpus[task], std::move(lists[task]), std::nullopt, Distance::sys});
        nearest_first(locality, node.tasks.back());
    }
    node.gpu_order = share.bound.empty() ? gpu_order(gpus, node.tasks) : gpus;
    if (policy.near_hcas) deal_ports(topology, node.tasks);
    return node;
}

}  // namespace distgpu
