// Which groups are measured with what, in which order. Every rank computes the same plan, and adds
// the same rounds of pairs to it.
#pragma once

#include "analysis/pairs.h"
#include "results/results.h"
#include "run/wishes.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace distgpu::scaling {

// Disjoint groups that are measured at the same time, with one operation after the other.
struct Stage {
    std::vector<std::size_t> groups;  // indices into Plan::groups
    std::vector<Subject> operations;
    bool checked = false;       // each operation's result is held against known data first
    std::uint32_t repeats = 1;  // so often with the same communicators
    // The group that gets the result of the median one of these.
    std::optional<std::size_t> median;
};

struct Plan {
    std::vector<Group> groups;
    std::vector<Stage> stages;
    Subject comparison;  // by which nodes, pairs and rails are told apart
    // Those of rounds, by node, node and local rank: who meets again is the same group.
    std::map<std::tuple<Group::Kind, Pair, std::uint32_t>, std::size_t> met;
};

// First everything that was asked for, on 2, 4, ... GPUs of the first node, on every node alone at
// the same time, and then on 2, 4, ... and all nodes; quick: on nodes alone and on all. Then what
// tells slow parts from others: nodes alone again and, where nodes have several GPUs, rails; these
// with the first collective, type and operation that were asked for, at the largest size, and not
// checked again. Groups of one rank move no data and are left out, but where the run has no other
// rank. Precondition: no refusal.
Plan make_plan(const std::vector<Node>& nodes, const Wishes& wishes, const Offers& offers);

// A round of pairs, with what tells slow parts from others. Adds the groups that are new.
Stage pairs_stage(Plan& plan, const std::vector<Node>& nodes, const Round& round);
// The same pairs' GPUs by local rank, all at the same time. No group: no node has two GPUs.
Stage pair_rails_stage(Plan& plan, const std::vector<Node>& nodes, const Round& round);

// Whether the rank with this local rank on one of the group's nodes is in it.
bool is_member(const Group& group, std::uint32_t local_rank);

}  // namespace distgpu::scaling
