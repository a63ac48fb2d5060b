// Finds the network's faults in the nodes' measurements: which node is slow, in which direction,
// and which cannot be reached.
#include "check/pairs/network_trial.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace distgpu {
namespace {

using Kind = NetworkFault::Kind;
using Pair = std::pair<std::uint32_t, std::uint32_t>;

void raise(std::optional<double>& best, double value) {
    best = std::max(best.value_or(value), value);
}

bool got_datagram(const std::vector<TrialResult>& results, std::uint32_t node, std::uint32_t from) {
    const auto result = std::ranges::find(results, node, &TrialResult::node);
    return result != results.end() &&
           std::ranges::find(result->datagram_senders, from) != result->datagram_senders.end();
}

// The pairs without a connection, each once, with the kernel's error.
std::map<Pair, std::string> cut_pairs(const std::vector<TrialResult>& results) {
    std::map<Pair, std::string> cut;
    for (const TrialResult& result : results) {
        for (const SendResult& sent : result.sent) {
            if (sent.problem.empty()) continue;
            cut.emplace(std::minmax(result.node, sent.node), sent.problem);
        }
    }
    return cut;
}

// The node that is in the most pairs; on a tie the last one, as the first runs rank 0.
std::uint32_t most_frequent_node(const std::map<Pair, std::string>& cut) {
    std::map<std::uint32_t, std::size_t> counts;
    for (const auto& [pair, problem] : cut) {
        ++counts[pair.first];
        ++counts[pair.second];
    }
    auto most = counts.begin();
    for (auto at = counts.begin(); at != counts.end(); ++at) {
        if (at->second >= most->second) most = at;
    }
    return most->first;
}

std::vector<NetworkFault> unreachable_nodes(const std::vector<TrialResult>& results) {
    std::vector<NetworkFault> faults;
    auto cut = cut_pairs(results);
    while (!cut.empty()) {
        NetworkFault fault;
        fault.node = most_frequent_node(cut);
        for (auto at = cut.begin(); at != cut.end();) {
            const auto [first, second] = at->first;
            if (first != fault.node && second != fault.node) {
                ++at;
                continue;
            }
            const std::uint32_t partner = first == fault.node ? second : first;
            if (fault.partners.empty()) fault.problem = at->second;
            fault.partners.push_back(partner);
            fault.packets_arrive |= got_datagram(results, fault.node, partner);
            fault.packets_leave |= got_datagram(results, partner, fault.node);
            at = cut.erase(at);
        }
        faults.push_back(std::move(fault));
    }
    return faults;
}

// The larger of two in the middle, so that the slower of two nodes can be found.
double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void add_slow(std::vector<NetworkFault>& faults, const std::vector<NodeRates>& rates, Kind kind,
              std::optional<double> NodeRates::*direction) {
    std::vector<double> measured;
    for (const NodeRates& node : rates) {
        if (node.*direction) measured.push_back(*(node.*direction));
    }
    if (measured.size() < 2) return;
    const double median_rate = median(std::move(measured));
    for (const NodeRates& node : rates) {
        constexpr double min_share = 1.0 / 3;
        if (!(node.*direction) || *(node.*direction) >= median_rate * min_share) continue;
        NetworkFault fault;
        fault.kind = kind;
        fault.node = node.node;
        fault.rate = *(node.*direction);
        fault.median_rate = median_rate;
        faults.push_back(std::move(fault));
    }
}

}  // namespace

std::vector<NodeRates> node_rates(const std::vector<TrialResult>& results) {
    std::vector<NodeRates> rates;
    std::map<std::uint32_t, std::size_t> places;
    for (const TrialResult& result : results) {
        places[result.node] = rates.size();
        rates.push_back({result.node, {}, {}, {}});
    }
    for (const TrialResult& result : results) {
        NodeRates& own = rates[places[result.node]];
        for (const ReceiveResult& received : result.received) {
            raise(own.in, received.rate);
            const auto sender = places.find(received.node);
            if (sender != places.end()) raise(rates[sender->second].out, received.rate);
        }
        for (const SendResult& sent : result.sent) {
            if (!sent.problem.empty()) continue;
            own.round_trip = std::min(own.round_trip.value_or(sent.round_trip), sent.round_trip);
        }
    }
    return rates;
}

std::vector<UnusableInterface> find_unusable_interfaces(const std::vector<TrialResult>& results) {
    std::map<std::string, UnusableInterface> interfaces;
    for (const TrialResult& result : results) {
        for (const MoreResult& each : result.more) {
            UnusableInterface& interface = interfaces[each.interface];
            ++interface.tried;
            if (each.problem.empty()) continue;
            if (interface.pairs++ > 0) continue;
            interface.name = each.interface;
            interface.from = result.node;
            interface.to = each.node;
            interface.problem = each.problem;
        }
    }
    std::vector<UnusableInterface> unusable;
    for (auto& [name, interface] : interfaces) {
        if (interface.pairs > 0) unusable.push_back(std::move(interface));
    }
    return unusable;
}

bool has_slow_nodes(const std::vector<NetworkFault>& faults) {
    return std::ranges::any_of(
        faults, [](const NetworkFault& fault) { return fault.kind != Kind::unreachable; });
}

std::vector<NetworkFault> common_faults(const std::vector<NetworkFault>& first,
                                        const std::vector<NetworkFault>& second) {
    std::vector<NetworkFault> both;
    for (const NetworkFault& fault : second) {
        const auto before = std::ranges::find_if(first, [&](const NetworkFault& each) {
            return each.kind == fault.kind && each.node == fault.node;
        });
        if (before == first.end()) continue;
        both.push_back(fault);
        both.back().is_proven = fault.is_proven && before->is_proven;
    }
    return both;
}

std::vector<NetworkFault> find_network_faults(const std::vector<TrialResult>& results) {
    std::vector<NetworkFault> faults = unreachable_nodes(results);
    std::vector<NetworkFault> slow;
    const auto rates = node_rates(results);
    add_slow(slow, rates, Kind::sends_slowly, &NodeRates::out);
    add_slow(slow, rates, Kind::receives_slowly, &NodeRates::in);
    if (results.size() == 2) {
        const std::uint32_t first = results.front().node;
        std::erase_if(slow, [&](const NetworkFault& fault) { return fault.node == first; });
    }
    const std::vector<NetworkFault> links = find_slow_links(results);
    // Of two nodes, the link itself tells more than the comparison of its directions.
    std::vector<NetworkFault> proven;
    if (results.size() == 2) {
        std::ranges::copy_if(links, std::back_inserter(proven), &NetworkFault::is_proven);
    }
    for (std::vector<NetworkFault> more : {std::move(proven), std::move(slow), links}) {
        std::set<std::uint32_t> named;
        for (const NetworkFault& fault : faults) named.insert(fault.node);
        for (NetworkFault& fault : more) {
            if (!named.contains(fault.node)) faults.push_back(std::move(fault));
        }
    }
    return faults;
}

}  // namespace distgpu
