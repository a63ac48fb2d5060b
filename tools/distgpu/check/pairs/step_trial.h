// Rank 0's part in the trial of the network: it tells every node its partners, lets all rounds
// begin at once, and collects what the nodes measured.
#pragma once

#include "check/pairs/trial.h"
#include "meet/node_link.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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

// The ranks of a node that did not answer, as its first rank says so, and as rank 0 reads it.
std::string silent_ranks_text(const std::set<std::uint32_t>& ranks);
std::set<std::uint32_t> parse_silent_ranks(std::string_view text);

// Who did not answer.
struct Silence {
    std::set<std::uint32_t> nodes;  // whose first rank did not
    std::set<std::uint32_t> ranks;  // others, as their node's first rank says

    bool empty() const { return nodes.empty() && ranks.empty(); }
};

inline constexpr std::chrono::seconds longest_question{5};

// Asks all nodes whether all of their ranks are still there, and `ask_own`, meanwhile, those of
// rank 0's own. Only of a step that is there does the verdict reach everybody.
Silence ask_members(std::vector<TrialMember>& members, std::uint32_t own_node,
                    const std::function<std::set<std::uint32_t>()>& ask_own);

// Tells all members how the check of the step ends, and lets them close their links: who closes a
// connection keeps its ports busy for a minute, and a framework will listen here.
void tell_verdict(std::vector<TrialMember>& members, int exit_status);

}  // namespace distgpu
