// Which groups are measured with what, in which order. Every rank computes the same plan.
#pragma once

#include "results.h"
#include "run/operation.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace distgpu::scaling {

// What the user asked for; none is empty.
struct Wishes {
    std::vector<Collective> collectives;
    std::vector<DataType> types;
    std::vector<std::uint64_t> sizes;  // ascending
};

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
};

// Backend::offers.
using Offers = std::function<bool(Collective collective, bool in_place)>;

// First everything that was asked for, on 2, 4, ... GPUs of the first node, on every node alone at
// the same time, and then on 2, 4, ... and all nodes. Then, from three nodes on, what tells a slow
// one from the others: pairs in a tournament and, where nodes have several GPUs, rails; these with
// the first collective and type that were asked for, at the largest size, and are not checked
// again. Groups of one rank move no data and are left out, but where the run has no other rank.
Plan make_plan(const std::vector<Node>& nodes, const Wishes& wishes, const Offers& offers);

// Whether the rank with this local rank on this node is in the group.
bool is_member(const Group& group, std::uint32_t node, std::uint32_t local_rank);

}  // namespace distgpu::scaling
