// Finds links that carry far less than their interfaces could, although no other node is faster:
// the only way to find a slow link between two nodes.
//
// A low rate alone proves nothing: the node may be busy, or the stream too short for the distance.
// So a fault is proven only if TCP was held back by the network for most of the time, and if the
// interface did not carry other traffic instead.
#include "check/pairs/network_trial.h"

#include <algorithm>
#include <utility>

namespace distgpu {
namespace {

using Kind = NetworkFault::Kind;

constexpr double mega_bits = 1e6 / 8;  // bytes

// An interface of unknown speed is taken for the slowest that a cluster may have.
constexpr double least_speed = 100 * mega_bits;
constexpr double min_share = 0.1;
// Of one stream, whose packets one CPU handles, no more can be expected of any interface.
constexpr double highest_floor = 5000 * mega_bits;
// A slower link is worth a warning where the interface does not tell what it should carry.
constexpr double slow_rate = 1000 * mega_bits;

// One direction between two nodes.
struct Link {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    double rate = 0;     // bytes per second of the stream
    double carried = 0;  // by the interfaces, with the traffic of other processes
    double speed = 0;    // that the interfaces have; 0 if unknown
    bool by_network = false;
};

RoundTraffic traffic_of(const TrialResult& result, std::size_t round) {
    return round < result.traffic.size() ? result.traffic[round] : RoundTraffic{};
}

// If both nodes of two differ, the faster interface counts: there is no other link to compare with.
double speed_between(const TrialResult& from, const TrialResult& to, bool are_alone) {
    if (from.speed <= 0 || to.speed <= 0) return 0;
    return are_alone ? std::max(from.speed, to.speed) : std::min(from.speed, to.speed);
}

// Whether the network held the stream back for most of its time: without that, its rate would at
// most have doubled.
bool is_held_back(const SendResult& sent) {
    constexpr double most = 0.5;
    // Over a longer distance TCP may not reach its full rate in the time of a stream.
    constexpr double max_round_trip = 0.004;  // seconds
    return sent.network_share >= most && sent.round_trip <= max_round_trip;
}

std::vector<Link> measured_links(const std::vector<TrialResult>& results) {
    std::vector<Link> links;
    for (const TrialResult& to : results) {
        for (const ReceiveResult& received : to.received) {
            const auto from = std::ranges::find(results, received.node, &TrialResult::node);
            if (from == results.end()) continue;
            const auto sent = std::ranges::find(from->sent, to.node, &SendResult::node);
            if (sent == from->sent.end()) continue;
            const auto round = static_cast<std::size_t>(sent - from->sent.begin());
            const double carried = std::max(
                {received.rate, traffic_of(*from, round).sent, traffic_of(to, round).received});
            links.push_back({from->node, to.node, received.rate, carried,
                             speed_between(*from, to, results.size() == 2), is_held_back(*sent)});
        }
    }
    return links;
}

double floor_of(const Link& link) {
    return std::min(highest_floor, min_share * (link.speed > 0 ? link.speed : least_speed));
}

bool is_proven_slow(const Link& link) {
    return link.by_network && link.carried < floor_of(link);
}

// Proven, or worth a warning.
bool is_slow(const Link& link) {
    if (is_proven_slow(link)) return true;
    if (link.rate >= slow_rate) return false;
    return link.speed > 0 ? link.carried < floor_of(link) : link.by_network;
}

// The nodes none of whose links is fast enough, by `node`: the end of a link. `partner`: the other.
void add_faults(std::vector<NetworkFault>& faults, const std::vector<TrialResult>& results,
                const std::vector<Link>& links, Kind kind, std::uint32_t Link::*node,
                std::uint32_t Link::*partner) {
    const auto speed_of = [&](std::uint32_t each) {
        return std::ranges::find(results, each, &TrialResult::node)->speed;
    };
    for (const TrialResult& result : results) {
        const Link* best = nullptr;
        bool all_are_slow = true;
        for (const Link& link : links) {
            if (link.*node != result.node) continue;
            all_are_slow = all_are_slow && is_slow(link);
            if (best == nullptr || link.rate > best->rate) best = &link;
        }
        if (best == nullptr || !all_are_slow) continue;
        NetworkFault fault;
        fault.kind = kind;
        fault.node = result.node;
        fault.partners = {best->*partner};
        fault.rate = best->rate;
        fault.speed = result.speed;
        fault.partner_speed = speed_of(best->*partner);
        fault.is_proven = is_proven_slow(*best);
        faults.push_back(std::move(fault));
    }
}

// The one of two nodes to name.
std::uint32_t suspect(const TrialResult& first, const TrialResult& second) {
    const bool is_first = first.speed > 0 && first.speed < second.speed;
    return is_first ? first.node : second.node;
}

}  // namespace

std::vector<NetworkFault> find_slow_links(const std::vector<TrialResult>& results) {
    const std::vector<Link> links = measured_links(results);
    std::vector<NetworkFault> faults;
    add_faults(faults, results, links, Kind::sends_slowly, &Link::from, &Link::to);
    add_faults(faults, results, links, Kind::receives_slowly, &Link::to, &Link::from);
    if (results.size() == 2) {
        const std::uint32_t named = suspect(results.front(), results.back());
        std::erase_if(faults, [&](const NetworkFault& fault) { return fault.node != named; });
    }
    return faults;
}

}  // namespace distgpu
