// What one rank found out, as it tells it to rank 0.
#pragma once

#include "check/finding.h"
#include "check/named_check.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distgpu {

struct Report {
    std::uint32_t rank = 0;
    std::uint32_t node = 0;  // in the step's node list
    std::string cpus;        // "0-3,8"
    std::uint32_t gpus = 0;
    std::string interface;   // that NCCL is told to take, or that has the node's address
    std::string ports;       // "mlx5_0:1 400 Gb/s +3"; empty: no InfiniBand
    std::string rendezvous;  // "node01:24608", as this rank has it; empty: it has none
    Findings findings;
    std::vector<NodeTrait> traits{};   // of its node, from one of its ranks
    double clock = 0;                  // when it was sent, in seconds since 1970; 0: not sent
    bool stays = false;                // on the connection, for the trial of the network
    std::string trial{};               // where its node takes part (pairs/trial.h); empty: nowhere
    std::optional<Error> unreached{};  // why rank 0 got this report past the rendezvous port

    bool operator==(const Report&) const = default;
};

// One line of JSON, without a newline.
std::string encode_report(const Report& report);

// Nothing: not what encode_report() writes. Anybody may send anything to a port, so that texts are
// cut to what a line can show.
std::optional<Report> decode_report(std::string_view line);

}  // namespace distgpu
