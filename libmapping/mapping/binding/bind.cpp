// Computes the binding: GPUs first, then the CPUs near them, then a port near the GPU.
#include "base/format.h"
#include "mapping/binding/cpu_shares.h"

#include <algorithm>
#include <map>

namespace distgpu {
namespace {

// Compared lexicographically, so that no member has to outweigh the next.
struct Cost {
    std::int64_t above_share = 0;  // items beyond an owner's floor(items/owners)
    std::int64_t cost = 0;
    std::int64_t disorder = 0;

    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 mistakes its 0 for a pointer.
    auto operator<=>(const Cost&) const = default;
    friend Cost operator+(const Cost& a, const Cost& b) {
        return {a.above_share + b.above_share, a.cost + b.cost, a.disorder + b.disorder};
    }
    friend Cost operator-(const Cost& a, const Cost& b) {
        return {a.above_share - b.above_share, a.cost - b.cost, a.disorder - b.disorder};
    }
};

using Costs = std::vector<std::vector<std::int64_t>>;  // [item][owner], 0 or more

// The exact assignment of items to owners with the least total cost: every owner has
// floor(items/owners) or one more; among assignments of equal cost, items and owners are in the
// same order as far as possible. Preconditions: at least one owner, items >= owners, rows of equal
// length. Time: items * owners * (items + owners^2). Successive shortest paths: items are added one
// by one, and each may push earlier items to other owners; the owners are the graph's nodes.
class Assignment {
  public:
    explicit Assignment(const Costs& costs) : costs_(costs), items_of_(costs.front().size()) {
        for (std::size_t item = 0; item < costs.size(); ++item) assign(item);
    }

    std::vector<std::size_t> owners() const {
        std::vector<std::size_t> owner_of(costs_.size());
        for (std::size_t owner = 0; owner < items_of_.size(); ++owner) {
            for (const std::size_t item : items_of_[owner]) owner_of[item] = owner;
        }
        return owner_of;
    }

  private:
    // The cheapest path on which an item reaches an owner.
    struct Path {
        Cost cost;
        std::size_t item;                 // that the owner receives
        std::optional<std::size_t> from;  // the owner that passes it on; nullopt for the new item
    };

    Cost cost(std::size_t item, std::size_t owner) const {
        // Equal products pair small with small (rearrangement inequality).
        return {0, costs_[item][owner], -static_cast<std::int64_t>(item * owner)};
    }

    void assign(std::size_t item) {
        const std::vector<Path> paths = paths_of(item);
        for (std::optional<std::size_t> owner = cheapest_owner(paths); owner;
             owner = paths[*owner].from) {
            const Path& path = paths[*owner];
            items_of_[*owner].push_back(path.item);
            if (path.from) std::erase(items_of_[*path.from], path.item);
        }
    }

    // The path to each owner. Bellman-Ford: passing an item on may lower the cost.
    std::vector<Path> paths_of(std::size_t item) const {
        std::vector<Path> paths;
        paths.reserve(items_of_.size());
        for (std::size_t owner = 0; owner < items_of_.size(); ++owner) {
            paths.push_back({cost(item, owner), item, std::nullopt});
        }
        for (bool cheaper = true; cheaper;) {
            cheaper = false;
            for (std::size_t from = 0; from < items_of_.size(); ++from) {
                for (const std::size_t passed : items_of_[from]) {
                    cheaper = pass_on(passed, from, paths) || cheaper;
                }
            }
        }
        return paths;
    }

    // Whether passing the item on makes a path cheaper.
    bool pass_on(std::size_t item, std::size_t from, std::vector<Path>& paths) const {
        const Cost start = paths[from].cost - cost(item, from);
        bool cheaper = false;
        for (std::size_t to = 0; to < paths.size(); ++to) {
            const Cost whole = start + cost(item, to);
            if (to == from || !(whole < paths[to].cost)) continue;
            paths[to] = {whole, item, from};
            cheaper = true;
        }
        return cheaper;
    }

    // Some owner always has room: there are fewer items than places.
    std::size_t cheapest_owner(const std::vector<Path>& paths) const {
        const std::size_t share = costs_.size() / items_of_.size();
        std::optional<std::size_t> last;
        Cost least;
        for (std::size_t owner = 0; owner < items_of_.size(); ++owner) {
            const std::size_t count = items_of_[owner].size();
            const Cost whole = paths[owner].cost + Cost{count < share ? 0 : 1, 0, 0};
            if (count > share || (last && !(whole < least))) continue;
            last = owner;
            least = whole;
        }
        return last.value_or(0);
    }

    const Costs& costs_;
    std::vector<std::vector<std::size_t>> items_of_;  // by owner
};

using GpuLists = std::vector<std::vector<std::uint32_t>>;  // by local rank

// Shares the GPUs in PCI order, task after task.
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

// Shares the GPUs with the least total distance from the tasks' masks.
GpuLists share_by_distance(const Locality& locality, const std::vector<std::uint32_t>& gpus,
                           const std::vector<CpuSet>& masks) {
    // The larger group is assigned to the smaller one.
    const bool gpus_are_items = masks.size() <= gpus.size();
    Costs costs(std::max(gpus.size(), masks.size()));
    for (std::size_t item = 0; item < costs.size(); ++item) {
        for (std::size_t owner = 0; owner < std::min(gpus.size(), masks.size()); ++owner) {
            const auto [task, gpu] =
                gpus_are_items ? std::pair(owner, item) : std::pair(item, owner);
            costs[item].push_back(locality.distance(masks[task], gpus[gpu]));
        }
    }
    const std::vector<std::size_t> owner_of = Assignment(costs).owners();
    GpuLists lists(masks.size());
    for (std::size_t item = 0; item < costs.size(); ++item) {
        lists[gpus_are_items ? owner_of[item] : item].push_back(
            gpus[gpus_are_items ? item : owner_of[item]]);
    }
    return lists;
}

// Every task's first GPU at the position of its local rank, then the other GPUs.
std::vector<std::uint32_t> gpu_order(const std::vector<std::uint32_t>& gpus,
                                     const std::vector<TaskBinding>& tasks) {
    if (tasks.size() > gpus.size()) return gpus;
    std::vector<std::uint32_t> order;
    order.reserve(gpus.size());
    for (const TaskBinding& task : tasks) order.push_back(task.gpus.front());
    for (const std::uint32_t gpu : gpus) {
        if (std::ranges::find(order, gpu) == order.end()) order.push_back(gpu);
    }
    return order;
}

Distance port_distance(const NodeTopology& topology, const TaskBinding& task, std::uint32_t hca) {
    if (!task.gpus.empty()) return topology.distances[task.gpus.front()][hca];
    const CpuSet& near = topology.hcas[hca].cpus;
    return near.empty() || near.intersects(task.cpus) ? Distance::node : Distance::sys;
}

// Tasks with the same nearest ports use them in turn.
void assign_ports(const NodeTopology& topology, std::vector<TaskBinding>& tasks) {
    const std::vector<PortRef> ports = rank_ports(topology);
    if (ports.empty()) return;
    std::map<std::vector<PortRef>, std::size_t> uses;
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
        const std::size_t turn = uses[nearest]++;
        task.port = nearest[turn % nearest.size()];
    }
}

}  // namespace

std::vector<PortRef> rank_ports(const NodeTopology& topology) {
    std::vector<PortRef> ports;
    const auto eligibility = port_eligibility(topology);
    for (std::uint32_t hca = 0; hca < eligibility.size(); ++hca) {
        if (topology.hcas[hca].kind != HcaKind::verbs) continue;
        for (std::uint32_t port = 0; port < eligibility[hca].size(); ++port) {
            if (eligibility[hca][port].eligible) ports.push_back({hca, port});
        }
    }
    return ports;
}

std::string port_name(const NodeTopology& topology, PortRef port) {
    const Hca& hca = topology.hcas[port.hca];
    return formatted("{}:{}", hca.name, hca.ports[port.port].number);
}

NodeBinding bind(const NodeTopology& topology, const BindingPolicy& policy,
                 const SlurmShare& share) {
    const Locality locality(topology);
    std::vector<std::uint32_t> gpus = share.gpus;
    std::ranges::sort(gpus);
    const CpuSet& mask = share.masks.front();
    const bool has_one_mask =
        std::ranges::all_of(share.masks, [&](const CpuSet& other) { return other == mask; });
    GpuLists lists = share.task_gpus;
    if (lists.empty()) {
        lists = gpus.empty() || has_one_mask ? share_in_order(gpus, share.masks.size())
                                             : share_by_distance(locality, gpus, share.masks);
    }
    // A mask with CPUs that the topology lacks: it is the topology of another node.
    const bool divides_mask = policy.near_cpus && has_one_mask && locality.all.contains(mask);
    const std::vector<CpuSet> cpus =
        divides_mask ? divide_cpus(topology, locality, mask, lists, share.cpus_per_task)
                     : share.masks;

    NodeBinding node;
    for (std::size_t task = 0; task < cpus.size(); ++task) {
        node.tasks.push_back({cpus[task], std::move(lists[task]), std::nullopt, Distance::sys});
        std::ranges::stable_sort(node.tasks.back().gpus, [&](std::uint32_t a, std::uint32_t b) {
            return locality.distance(cpus[task], a) < locality.distance(cpus[task], b);
        });
    }
    node.gpu_order = share.task_gpus.empty() ? gpu_order(gpus, node.tasks) : gpus;
    if (policy.near_hcas) assign_ports(topology, node.tasks);
    return node;
}

}  // namespace distgpu
