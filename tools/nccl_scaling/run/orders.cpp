#include "run/orders.h"

#include "analysis/loop_statistics.h"
#include "base/format.h"
#include "mapping/layout/switches.h"
#include "report/names.h"
#include "slurm/slurm_command.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

namespace distgpu::scaling {
namespace {

using Indices = std::vector<std::uint32_t>;

Error without(std::string problem) {
    return {"--order name,switch", std::move(problem), "leave --order out"};
}

// As they stand in the job's list, which Slurm has sorted.
Result<Indices> by_name(const std::vector<Node>& nodes, const HostList& list) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> places;
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
        const auto place = list.find(nodes[node].name);
        if (!place) return without(nodes[node].name + " is not in SLURM_JOB_NODELIST");
        places.emplace_back(place->value, node);
    }
    std::sort(places.begin(), places.end());
    Indices order;
    order.reserve(places.size());
    for (const auto& place : places) order.push_back(place.second);
    return order;
}

// All ranks in one order, as this rank goes through it.
struct Ring {
    Seat seat;
    std::unique_ptr<Communicator> ranks;
};

class InTurns {
  public:
    InTurns(const Equipment& use, const World& world, const Subject& operation, Measurer& measurer)
        : use_(use), world_(world), operation_(operation), measurer_(measurer) {}

    std::optional<Fault> add(const Indices& nodes) {
        begin("new communicator");
        const Indices ranks = ranks_in_order(world_, nodes);
        const auto here = std::find(ranks.begin(), ranks.end(), use_.membership.rank);
        Ring& ring = rings_.emplace_back();
        ring.seat = {static_cast<std::uint32_t>(here - ranks.begin()),
                     static_cast<std::uint32_t>(ranks.size())};
        auto group = use_.backend.split(0, ring.seat);
        if (!group) return fault_of(group.error());
        ring.ranks = *std::move(group);
        begin("warm-up");
        const auto warm = measurer_.warm_up(*ring.ranks, ring.seat, operation_, use_.options.check);
        return warm ? std::nullopt : std::optional(warm.error());
    }

    // On rank 0 the seconds of the slowest one.
    tl::expected<double, Fault> time(std::size_t order) {
        const Ring& ring = rings_[order];
        const auto ends = measurer_.time(*ring.ranks, ring.seat, operation_, 1);
        if (!ends) return tl::make_unexpected(ends.error());
        const auto time = gather_numbers(use_.channel, *ends).and_then(loop_statistics);
        if (!time) return tl::make_unexpected(fault_of(time.error()));
        use_.channel.broadcast("");  // all are done: the next one begins
        return time->median;
    }

    void begin(const std::string& what) {
        const std::string phase =
            formatted("{}, by name and by switch, {}", operation_name(operation_), what);
        use_.channel.begin(phase);
        if (use_.membership.rank == 0) use_.recorder.show(phase);
    }

    std::optional<Fault> close() {
        for (const Ring& ring : rings_) {
            if (auto fault = fault_if(ring.ranks->close())) return fault;
        }
        return std::nullopt;
    }

  private:
    const Equipment& use_;
    const World& world_;
    const Subject operation_;
    Measurer& measurer_;
    std::vector<Ring> rings_;
};

// Both orders' times go into `orders`, on rank 0.
std::optional<Fault> play(InTurns& comparison, std::uint32_t rounds, OrderComparison& orders) {
    const std::array<OrderComparison::Order*, 2> both{&orders.by_name, &orders.by_switch};
    for (const auto* const one : both) {
        if (auto fault = comparison.add(one->nodes)) return fault;
    }
    comparison.begin(counted(rounds, "round"));
    for (std::uint32_t round = 0; round < rounds; ++round) {
        for (std::size_t turn = 0; turn < both.size(); ++turn) {
            const std::size_t order = (round + turn) % both.size();
            const auto seconds = comparison.time(order);
            if (!seconds) return seconds.error();
            both.at(order)->times.push_back(*seconds);
        }
    }
    return comparison.close();
}

}  // namespace

Result<OrderComparison> orders_of(const std::vector<Node>& nodes, const HostList& list,
                                  std::string_view topology) {
    if (nodes.size() < 2) return without("the run has one node");
    OrderComparison orders;
    auto sorted = by_name(nodes, list);
    if (!sorted) return sorted.error();
    orders.by_name.nodes = *std::move(sorted);
    std::vector<std::string> names;
    std::vector<NodeIndex> as_they_are;
    for (const std::uint32_t node : orders.by_name.nodes) {
        as_they_are.push_back(NodeIndex{static_cast<std::uint32_t>(names.size())});
        names.push_back(nodes[node].name);
    }
    const auto paths = switches_above(HostList::from_names(names), read_switches(topology));
    if (std::all_of(paths.begin(), paths.end(), [](const auto& path) { return path.empty(); })) {
        return without("Slurm knows no switches above the run's nodes");
    }
    const auto by_switch = order_by_switch(paths);
    for (const NodeIndex place : by_switch) {
        orders.by_switch.nodes.push_back(orders.by_name.nodes[place.value]);
    }
    orders.by_name.crossings = ring_crossings(paths, as_they_are);
    orders.by_switch.crossings = ring_crossings(paths, by_switch);
    return orders;
}

Result<OrderComparison> find_orders(const std::vector<Node>& nodes,
                                    const Environment& environment) {
    constexpr std::chrono::seconds time_limit{5};
    const auto list = HostList::parse(environment.get("SLURM_JOB_NODELIST").value_or(""));
    if (!list) return without("SLURM_JOB_NODELIST: " + list.error().problem);
    const auto topology =
        run_slurm_command(environment, {"scontrol", "show", "topology"}, time_limit);
    if (!topology) return without("scontrol show topology: " + topology.error().problem);
    return orders_of(nodes, *list, *topology);
}

Indices ranks_in_order(const World& world, const Indices& nodes) {
    Indices ranks;
    ranks.reserve(world.peers.size());
    for (const std::uint32_t node : nodes) {
        const Indices& own = world.ranks_of_node[node];
        ranks.insert(ranks.end(), own.begin(), own.end());
    }
    return ranks;
}

std::optional<Fault> compare_orders(const Equipment& use, const World& world,
                                    OrderComparison orders, const Subject& operation,
                                    Measurer& measurer) {
    for (auto* const order : {&orders.by_name, &orders.by_switch}) {
        auto known = broadcast_indices(use.channel, order->nodes, world.nodes.size());
        if (!known) return fault_of(known.error());
        order->nodes = *std::move(known);
    }
    orders.collective = operation.collective;
    orders.type = operation.type;
    orders.in_place = operation.in_place;
    orders.bytes = operation.bytes;
    orders.op = operation.op;
    const auto ranks = static_cast<std::uint32_t>(world.peers.size());
    if (orders.by_name.nodes != orders.by_switch.nodes && extent_of(operation, ranks).count > 0) {
        InTurns comparison(use, world, operation, measurer);
        if (auto fault = play(comparison, use.options.iterations, orders)) return fault;
    }
    if (use.membership.rank == 0) use.recorder.add_orders(std::move(orders));
    return std::nullopt;
}

}  // namespace distgpu::scaling
