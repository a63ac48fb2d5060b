// What the first rank of a node is told of the trial of the network, and what it measured.
#pragma once

#include "base/secret.h"

#include <cstdint>
#include <optional>
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

// "10.77.1.2:40123", "[fd00::2]:40123"; nothing: another text.
std::string to_text(const TrialAddress& address);
std::optional<TrialAddress> parse_trial_address(std::string_view text);

// Another node, by its index in the step's node list.
struct TrialPartner {
    std::uint32_t node = 0;
    TrialAddress address;

    bool operator==(const TrialPartner&) const = default;
};

// What one node is to do.
struct TrialOrder {
    std::uint32_t node = 0;          // itself
    std::string key;                 // a Secret's text, of this trial: strangers do not have it
    std::vector<TrialPartner> to;    // by round
    std::vector<TrialPartner> from;  // by round
    std::uint32_t stream = 0;        // milliseconds for which it sends in a round

    bool operator==(const TrialOrder&) const = default;
};

struct SentTo {
    std::uint32_t node = 0;
    std::string problem;    // why there was no connection; empty: there was
    double round_trip = 0;  // seconds, the least of several; 0: not measured

    bool operator==(const SentTo&) const = default;
};

struct HeardFrom {
    std::uint32_t node = 0;
    double rate = 0;  // bytes a second over the connection

    bool operator==(const HeardFrom&) const = default;
};

struct TrialResult {
    std::uint32_t node = 0;
    std::vector<SentTo> sent;
    std::vector<HeardFrom> heard;
    std::vector<std::uint32_t> datagrams;  // nodes from which one came

    bool operator==(const TrialResult&) const = default;
};

// One line of JSON each. Nothing: not what encode() writes.
std::string encode(const TrialOrder& order);
std::optional<TrialOrder> decode_order(std::string_view line);
std::string encode(const TrialResult& result);
std::optional<TrialResult> decode_result(std::string_view line);

}  // namespace distgpu
