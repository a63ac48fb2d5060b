// A node's part in the trial of the network: it connects to its partners, measures how long an
// answer takes, and in each round sends to one as much as goes while it takes what another sends.
// Beside each connection datagrams go both ways: where no connection comes about they tell in
// which direction packets arrive.
#pragma once

#include "base/io/deadline.h"
#include "base/io/socket.h"
#include "check/pairs/trial.h"
#include "meet/node_link.h"

#include <cstddef>
#include <optional>
#include <string>

namespace distgpu {

// A line by which a partner knows a node: the order's key and the node's index.
inline constexpr std::size_t longest_greeting = 128;

// Ports of this node at which its partners find it. The kernel chooses them, as it does those of
// NCCL and Gloo: a firewall between the nodes that would stop those, stops these.
struct TrialPorts {
    Socket listener;
    Socket datagrams;
    TrialAddress address;
};

// `host`: this node's address on the interface that is tried. Nothing: no port is to be had.
std::optional<TrialPorts> open_trial_ports(const std::string& host);

// Does what rank 0 orders over the link until it says something else, which is returned: the
// question or the verdict. Without ports it only waits for that. Nothing: none came by the
// deadline.
std::optional<std::string> take_part(std::optional<TrialPorts> ports, NodeLink& rank0,
                                     Deadline deadline);

// What rank 0 and the nodes tell each other, each the first word of a line.
namespace trial_words {
inline constexpr std::string_view order = "order ";         // rank 0, with a TrialOrder
inline constexpr std::string_view connected = "connected";  // a node: it tried all its partners
inline constexpr std::string_view start = "start";          // rank 0: the rounds begin
inline constexpr std::string_view result = "result ";       // a node, with its TrialResult
inline constexpr std::string_view question = "ready?";      // rank 0: is the node still there
inline constexpr std::string_view answer = "answer";        // a node: yes, but for these ranks
inline constexpr std::string_view verdict = "verdict ";     // rank 0, with the exit status of all
}  // namespace trial_words

}  // namespace distgpu
