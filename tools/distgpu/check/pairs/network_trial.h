// The network trial before a step's program starts: rank 0 runs it (network_trial.cpp), the first
// rank of each node joins it (node_trial.cpp), and rank 0 finds the faults in the measurements
// (network_faults.cpp).
#pragma once

#include "base/io/descriptor.h"
#include "base/io/socket.h"
#include "meet/handshake.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// A node's address in the trial: a TCP and a UDP port of the same number.
struct TrialAddress {
    std::string host;  // an IP address
    std::uint16_t port = 0;

    bool operator==(const TrialAddress&) const = default;
};

// "10.77.1.2:40123", "[fd00::2]:40123". The parser refuses every other text.
std::string to_text(const TrialAddress& address);
std::optional<TrialAddress> parse_trial_address(std::string_view text);

// Another interface of a node, over which NCCL would also send.
struct MoreAddress {
    std::string interface;
    TrialAddress address;

    bool operator==(const MoreAddress&) const = default;
    static void fields(auto& io, auto& it) { io("interface", it.interface, "address", it.address); }
};

// Another node, by its index in the step's node list.
struct TrialPartner {
    std::uint32_t node = 0;
    TrialAddress address;
    std::vector<MoreAddress> more{};

    bool operator==(const TrialPartner&) const = default;
    static void fields(auto& io, auto& it) {
        io("node", it.node, "address", it.address, "more", it.more);
    }
};

// Rank 0's order to one node.
struct TrialOrder {
    std::uint32_t node = 0;          // the index of this node
    std::string key;                 // random, drawn for this trial, unknown to other programs
    std::vector<TrialPartner> to;    // by round
    std::vector<TrialPartner> from;  // by round
    std::uint32_t stream = 0;        // milliseconds of sending per round

    bool operator==(const TrialOrder&) const = default;
    static void fields(auto& io, auto& it) {
        io("node", it.node, "key", it.key, "to", it.to, "from", it.from, "stream", it.stream);
    }
};

struct SendResult {
    std::uint32_t node = 0;
    std::string problem;    // why there was no connection; empty if there was one
    double round_trip = 0;  // seconds, the shortest of several; 0 if not measured
    // Of the time of its stream, the share in which the network held it back (stream_limit.h).
    double network_share = 0;

    bool operator==(const SendResult&) const = default;
    static void fields(auto& io, auto& it) {
        io("node", it.node, "problem", it.problem, "round_trip", it.round_trip, "network",
           it.network_share);
    }
};

struct ReceiveResult {
    std::uint32_t node = 0;
    double rate = 0;  // bytes per second over the connection

    bool operator==(const ReceiveResult&) const = default;
    static void fields(auto& io, auto& it) { io("node", it.node, "rate", it.rate); }
};

// An attempt to connect to another interface of a partner.
struct MoreResult {
    std::uint32_t node = 0;
    std::string interface;
    std::string problem;  // empty if it is connected

    bool operator==(const MoreResult&) const = default;
    static void fields(auto& io, auto& it) {
        io("node", it.node, "interface", it.interface, "problem", it.problem);
    }
};

// What a node's interface carried during one round, of all processes. 0 if unknown.
struct RoundTraffic {
    double sent = 0;      // bytes per second
    double received = 0;  // bytes per second

    bool operator==(const RoundTraffic&) const = default;
    static void fields(auto& io, auto& it) { io("sent", it.sent, "heard", it.received); }
};

struct TrialResult {
    std::uint32_t node = 0;
    std::vector<SendResult> sent;  // by round
    std::vector<ReceiveResult> received;
    std::vector<std::uint32_t> datagram_senders;  // the nodes from which a datagram arrived
    double speed = 0;                             // of the interface; 0 if unknown (interface.h)
    std::vector<RoundTraffic> traffic{};          // by round
    std::vector<MoreResult> more{};

    bool operator==(const TrialResult&) const = default;
    static void fields(auto& io, auto& it) {
        io("node", it.node, "sent", it.sent, "heard", it.received, "datagrams", it.datagram_senders,
           "speed", it.speed, "traffic", it.traffic, "more", it.more);
    }
};

// One line of JSON each. The decoders refuse what encode() does not write.
std::string encode(const TrialOrder& order);
std::optional<TrialOrder> decode_order(std::string_view line);
std::string encode(const TrialResult& result);
std::optional<TrialResult> decode_result(std::string_view line);

// The partners of a node in one round. In each round every node sends to one node and receives from
// another, so that in log2 N rounds each has measured log2 N others in both directions. In round k
// a node sends to the one 2^k places after it, as in the dissemination barrier of Hensgen, Finkel
// and Manber (1988).
struct PairRound {
    std::uint32_t to = 0;    // the node to which this one sends
    std::uint32_t from = 0;  // the node from which this one receives

    bool operator==(const PairRound&) const = default;
};

// The rounds of the node at `place` of `nodes`, in their order; empty for one node.
std::vector<PairRound> pair_rounds(std::uint32_t place, std::uint32_t nodes);

// The ports of this node to which its partners connect. The kernel chooses them, as it does those
// of NCCL and Gloo, so a firewall between the nodes that blocks those also blocks these.
struct TrialPorts {
    Socket listener;
    Socket datagrams;
    TrialAddress address;
    std::string interface;  // that has the address; empty if unknown
};

// `host`: this node's address on the tested interface. nullopt if no port is free.
std::optional<TrialPorts> open_trial_ports(const std::string& host);

// Carries out rank 0's orders from the link and returns its first line that is not an order: the
// question or the verdict. Without ports it only waits for that line. nullopt if no line arrived by
// the deadline.
std::optional<std::string> join_trial(std::optional<TrialPorts> ports, NodeLink& rank0,
                                      Deadline deadline);

// The start of each line between rank 0 and the nodes, and who sends it.
namespace trial_prefix {
inline constexpr std::string_view order = "order ";         // rank 0, with a TrialOrder
inline constexpr std::string_view connected = "connected";  // a node: done with all partners
inline constexpr std::string_view start = "start";          // rank 0: the rounds begin
inline constexpr std::string_view result = "result ";       // a node, with its TrialResult
inline constexpr std::string_view question = "ready?";      // rank 0: are all ranks still running
inline constexpr std::string_view answer = "answer";        // a node: all except these ranks
inline constexpr std::string_view verdict = "verdict ";     // rank 0, with the exit status of all
}  // namespace trial_prefix

// A node whose first rank has reported.
struct TrialMember {
    std::uint32_t node = 0;
    std::optional<TrialAddress> address;  // nullopt if it is not in the trial
    NodeLink link;
    std::vector<MoreAddress> more{};
};

inline constexpr std::chrono::seconds max_trial_time{10};  // for a million nodes

// Lasts up to 3 s plus 0.3 s for each of the log2 N rounds of N members, less if all of them
// answer. A member that does not answer has no result; its link is closed.
std::vector<TrialResult> run_network_trial(std::vector<TrialMember>& members);

// The ranks of a node that did not answer, as its first rank sends them to rank 0.
std::string silent_ranks_text(const std::set<std::uint32_t>& ranks);
std::set<std::uint32_t> parse_silent_ranks(std::string_view text);

// The ranks that did not answer.
struct SilentRanks {
    std::set<std::uint32_t> nodes;  // whose first rank did not answer
    std::set<std::uint32_t> ranks;  // other ranks, as reported by their node's first rank

    bool empty() const { return nodes.empty() && ranks.empty(); }
};

inline constexpr std::chrono::seconds max_question_time{5};

// Asks all nodes whether all of their ranks are still running, and meanwhile, with `ask_own_node`,
// the other ranks of rank 0's node. The verdict reaches all ranks only if they are.
SilentRanks find_silent_ranks(std::vector<TrialMember>& members, std::uint32_t own_node,
                              const std::function<std::set<std::uint32_t>()>& ask_own_node);

// Sends all members the exit status of the check, and lets them close their links: the side that
// closes a connection keeps its ports busy for a minute, and a framework will listen here.
void send_verdict(std::vector<TrialMember>& members, int exit_status);

// The best values of one node with any of its partners; nullopt without a connection.
struct NodeRates {
    std::uint32_t node = 0;
    std::optional<double> out;         // bytes per second
    std::optional<double> in;          // bytes per second
    std::optional<double> round_trip;  // seconds

    bool operator==(const NodeRates&) const = default;
};

// In the order of the results.
std::vector<NodeRates> node_rates(const std::vector<TrialResult>& results);

struct NetworkFault {
    enum class Kind {
        unreachable,      // no connection with `partners`
        sends_slowly,     // its best rate is less than a third of the median node's
        receives_slowly,  // likewise
    };
    Kind kind = Kind::unreachable;
    std::uint32_t node = 0;  // to exclude
    std::vector<std::uint32_t> partners{};
    std::string problem{};        // of the first attempt
    bool packets_arrive = false;  // datagrams from a partner arrive at the node
    bool packets_leave = false;   // datagrams from the node arrive at a partner
    double rate = 0;              // bytes per second, its best
    // If other nodes are faster: the median node's rate. 0 if the link is below its floor, and
    // then:
    double median_rate = 0;
    double speed = 0;          // of the node's interface; 0 if unknown
    double partner_speed = 0;  // of the only partner's
    bool is_proven = true;     // the network was the limit, and is far too slow; else a warning
};

// Unreachable nodes, as few as explain all pairs without a connection; then slow nodes. Contention
// at a switch slows all the nodes below it, but not in every round, so only a node's best rate
// counts. With only two nodes there is no telling which is at fault, so the second is named.
// Last, the links below their floor.
std::vector<NetworkFault> find_network_faults(const std::vector<TrialResult>& results);

// Nodes all of whose links, in one direction, are far slower than their interfaces
// (link_floor.cpp). Of two nodes only one is named: the one with the slower interface, or the
// second.
std::vector<NetworkFault> find_slow_links(const std::vector<TrialResult>& results);

// An interface, besides the first, over which NCCL would send, and that some pairs cannot use.
struct UnusableInterface {
    std::string name;
    std::uint32_t from = 0;  // the first such pair of nodes
    std::uint32_t to = 0;
    std::string problem;
    std::size_t pairs = 0;  // that cannot use it
    std::size_t tried = 0;

    bool operator==(const UnusableInterface&) const = default;
};
std::vector<UnusableInterface> find_unusable_interfaces(const std::vector<TrialResult>& results);

// Whether some node is only slow, so that a second trial is worth its time.
bool has_slow_nodes(const std::vector<NetworkFault>& faults);

// The faults that two consecutive trials have in common, with the values of the second: a node that
// was busy for a moment is slow in only one of them. Proven is what both have proven.
std::vector<NetworkFault> common_faults(const std::vector<NetworkFault>& first,
                                        const std::vector<NetworkFault>& second);

}  // namespace distgpu
