// What the nodes' measurements together say of the network: which node is slow, in which direction,
// and which cannot be reached.
#pragma once

#include "check/pairs/trial.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu {

// What one node reached at its best over all its partners. Nothing: it has no connection.
struct NodeRates {
    std::uint32_t node = 0;
    std::optional<double> out;         // bytes a second
    std::optional<double> in;          // the same
    std::optional<double> round_trip;  // seconds

    bool operator==(const NodeRates&) const = default;
};

// In the order of the results.
std::vector<NodeRates> node_rates(const std::vector<TrialResult>& results);

struct NetworkFault {
    enum class Kind {
        unreachable,   // no connection with `partners`
        sends_slowly,  // its best rate is less than a third of the median node's
        takes_slowly,  // the same, of what it takes
    };
    Kind kind = Kind::unreachable;
    std::uint32_t node = 0;  // to leave out
    std::vector<std::uint32_t> partners{};
    std::string problem{};        // of the first attempt
    bool packets_arrive = false;  // datagrams from a partner
    bool packets_leave = false;   // and at one
    double rate = 0;              // bytes a second
    double usual = 0;             // the median node's

    bool operator==(const NetworkFault&) const = default;
};

// The pairs without a connection, explained by few nodes; then those that are slow. Contention at a
// switch slows all the nodes below it, but not in every round: a node is judged by its best. Of two
// nodes alone nobody can tell which is at fault: the second is named.
std::vector<NetworkFault> judge_network(const std::vector<TrialResult>& results);

// Whether a trial tells of a node that is slow only by its figures, and is worth another.
bool has_slow(const std::vector<NetworkFault>& faults);

// Of two trials one after the other: what holds in both, as the second has it. A node that was busy
// for a moment is slow in one.
std::vector<NetworkFault> in_both(const std::vector<NetworkFault>& first,
                                  const std::vector<NetworkFault>& second);

}  // namespace distgpu
