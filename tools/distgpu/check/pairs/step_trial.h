// Rank 0's part in the trial of the network: it tells every node its partners, lets all rounds
// begin at once, and collects what the nodes measured.
#pragma once

#include "check/node_link.h"
#include "check/pairs/trial.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace distgpu {

// A node whose first rank has reported.
struct TrialMember {
    std::uint32_t node = 0;
    std::optional<TrialAddress> address;  // nothing: it does not take part
    NodeLink link;
};

inline constexpr std::chrono::seconds longest_trial{10};  // of a million nodes

// Takes up to 3 s and 0.3 s for each of the log2 N rounds of N members, and less where all of them
// answer. A member that does not is missing in the results, and its link is closed.
std::vector<TrialResult> try_network(std::vector<TrialMember>& members);

// Tells all members how the check of the step ends, and lets them close their links: who closes a
// connection keeps its ports busy for a minute, and a framework will listen here.
void tell_verdict(std::vector<TrialMember>& members, int exit_status);

}  // namespace distgpu
