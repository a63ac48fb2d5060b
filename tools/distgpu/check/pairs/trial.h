// The trial of the network before a step's program starts: rank 0 orders it (trial.cpp), the first
// rank of each node takes part (node_trial.cpp), and what all of them measured is judged
// (judge_network.cpp).
#pragma once

#include "base/io/descriptor.h"
#include "base/io/socket.h"
#include "meet/meeting.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

// Where a node takes part: a TCP and a UDP port of the same number.
struct TrialAddress {
    std::string host;  // an IP address
    std::uint16_t port = 0;

    bool operator==(const TrialAddress&) const = default;
};

// "10.77.1.2:40123", "[fd00::2]:40123". The parser refuses every other text.
std::string to_text(const TrialAddress& address);
std::optional<TrialAddress> parse_trial_address(std::string_view text);

// Another node, by its index in the step's node list.
struct TrialPartner {
    std::uint32_t node = 0;
    TrialAddress address;

    bool operator==(const TrialPartner&) const = default;
    static void fields(auto& io, auto& it) { io("node", it.node, "address", it.address); }
};

// What rank 0 tells one node to do.
struct TrialOrder {
    std::uint32_t node = 0;          // itself
    std::string key;                 // random, drawn for this trial: strangers do not know it
    std::vector<TrialPartner> to;    // by round
    std::vector<TrialPartner> from;  // by round
    std::uint32_t stream = 0;        // milliseconds for which it sends in a round

    bool operator==(const TrialOrder&) const = default;
    static void fields(auto& io, auto& it) {
        io("node", it.node, "key", it.key, "to", it.to, "from", it.from, "stream", it.stream);
    }
};

struct SentTo {
    std::uint32_t node = 0;
    std::string problem;    // why there was no connection; empty: there was
    double round_trip = 0;  // seconds, the least of several; 0: not measured

    bool operator==(const SentTo&) const = default;
    static void fields(auto& io, auto& it) {
        io("node", it.node, "problem", it.problem, "round_trip", it.round_trip);
    }
};

struct HeardFrom {
    std::uint32_t node = 0;
    double rate = 0;  // bytes a second over the connection

    bool operator==(const HeardFrom&) const = default;
    static void fields(auto& io, auto& it) { io("node", it.node, "rate", it.rate); }
};

struct TrialResult {
    std::uint32_t node = 0;
    std::vector<SentTo> sent;
    std::vector<HeardFrom> heard;
    std::vector<std::uint32_t> datagrams;  // the nodes from which a datagram came

    bool operator==(const TrialResult&) const = default;
    static void fields(auto& io, auto& it) {
        io("node", it.node, "sent", it.sent, "heard", it.heard, "datagrams", it.datagrams);
    }
};

// One line of JSON each. The decoders refuse what encode() does not write.
std::string encode(const TrialOrder& order);
std::optional<TrialOrder> decode_order(std::string_view line);
std::string encode(const TrialResult& result);
std::optional<TrialResult> decode_result(std::string_view line);

// Who tries the network with whom: in each round every node sends to one other and hears from one,
// and in log2 N rounds each has tried log2 N others in both directions. In round k a node sends to
// the one 2^k places behind it, as in the dissemination barrier of Hensgen, Finkel and Manber
// (1988).
struct PairRound {
    std::uint32_t to = 0;    // whom this node sends to
    std::uint32_t from = 0;  // and from whom it hears

    bool operator==(const PairRound&) const = default;
};

// The rounds of the node at `place` of `nodes`, in their order; none if it is alone.
std::vector<PairRound> pair_rounds(std::uint32_t place, std::uint32_t nodes);

// Ports of this node at which its partners find it. The kernel chooses them, as it does those of
// NCCL and Gloo: a firewall between the nodes that would stop those, stops these.
struct TrialPorts {
    Socket listener;
    Socket datagrams;
    TrialAddress address;
};

// `host`: this node's address on the interface that is tried. nullopt: no port is free.
std::optional<TrialPorts> open_trial_ports(const std::string& host);

// Carries out rank 0's orders from the link and returns its first line that is no order: the
// question or the verdict. Without ports it only waits for that line. nullopt: no line came by the
// deadline.
std::optional<std::string> take_part(std::optional<TrialPorts> ports, NodeLink& rank0,
                                     Deadline deadline);

// The first word of each line that rank 0 and the nodes send each other, and who sends it.
namespace trial_words {
inline constexpr std::string_view order = "order ";         // rank 0, with a TrialOrder
inline constexpr std::string_view connected = "connected";  // a node: it tried all its partners
inline constexpr std::string_view start = "start";          // rank 0: the rounds begin
inline constexpr std::string_view result = "result ";       // a node, with its TrialResult
inline constexpr std::string_view question = "ready?";      // rank 0: is the node still there
inline constexpr std::string_view answer = "answer";        // a node: yes, but for these ranks
inline constexpr std::string_view verdict = "verdict ";     // rank 0, with the exit status of all
}  // namespace trial_words

// A node whose first rank has reported.
struct TrialMember {
    std::uint32_t node = 0;
    std::optional<TrialAddress> address;  // nullopt: it does not take part
    NodeLink link;
};

inline constexpr std::chrono::seconds longest_trial{10};  // of a million nodes

// Takes up to 3 s plus 0.3 s for each of the log2 N rounds of N members, less if all of them
// answer. The results lack a member that does not answer; its link is closed.
std::vector<TrialResult> try_network(std::vector<TrialMember>& members);

// The list of a node's ranks that did not answer, as its first rank sends it to rank 0.
std::string silent_ranks_text(const std::set<std::uint32_t>& ranks);
std::set<std::uint32_t> parse_silent_ranks(std::string_view text);

// Who did not answer.
struct Silence {
    std::set<std::uint32_t> nodes;  // whose first rank did not
    std::set<std::uint32_t> ranks;  // others, as their node's first rank says

    bool empty() const { return nodes.empty() && ranks.empty(); }
};

inline constexpr std::chrono::seconds longest_question{5};

// Asks all nodes whether all of their ranks are still running, and meanwhile, by `ask_own`, the
// ranks of rank 0's own node. The verdict reaches everybody only if they are.
Silence ask_members(std::vector<TrialMember>& members, std::uint32_t own_node,
                    const std::function<std::set<std::uint32_t>()>& ask_own);

// Tells all members how the check of the step ends, and lets them close their links: who closes a
// connection keeps its ports busy for a minute, and a framework will listen here.
void tell_verdict(std::vector<TrialMember>& members, int exit_status);

// The best that one node reached with any of its partners. nullopt: it has no connection.
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
};

// The pairs without a connection, explained by few nodes; then those that are slow. Contention at a
// switch slows all the nodes below it, but not in every round: a node is judged by its best. Of two
// nodes alone nobody can tell which is at fault: the second is named.
std::vector<NetworkFault> judge_network(const std::vector<TrialResult>& results);

// Whether some node is only slow, so that a second trial is worth its time.
bool has_slow(const std::vector<NetworkFault>& faults);

// The faults that two trials in a row have in common, as the second measured them: a node that was
// busy for a moment is slow in only one of them.
std::vector<NetworkFault> in_both(const std::vector<NetworkFault>& first,
                                  const std::vector<NetworkFault>& second);

}  // namespace distgpu
