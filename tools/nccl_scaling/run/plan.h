// Which groups are measured with what, in which order and for how long. Every rank computes the
// same plan, and adds the same rounds of pairs to it; how long it takes rank 0 decides by its
// clock, and the others hear it before each round.
#pragma once

#include "analysis/pairs.h"
#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace distgpu::scaling {

// What the user asked for. None is empty.
struct Wishes {
    std::vector<Collective> collectives;
    std::vector<DataType> types;
    std::vector<std::uint64_t> sizes;  // ascending
    bool quick = false;                // only what a limiter is found by
};

// Backend::offers.
using Offers = std::function<bool(const Subject& subject)>;

// In the order in which they are measured; what the back end does not offer is left out.
std::vector<Subject> operations_of(const Wishes& wishes, const Offers& offers);

// Of these the one by which nodes, pairs and rails are told apart: the largest size of the first.
Subject comparison_of(const std::vector<Subject>& operations);

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
// with the first collective and type that were asked for, at the largest size, and not
// checked again. Groups of one rank move no data and are left out, but where the run has no other
// rank.
Plan make_plan(const std::vector<Node>& nodes, const Wishes& wishes, const Offers& offers);

// A round of pairs, with what tells slow parts from others. Adds the groups that are new.
Stage pairs_stage(Plan& plan, const std::vector<Node>& nodes, const Round& round);
// The same pairs' GPUs by local rank, all at the same time. No group: no node has two GPUs.
Stage pair_rails_stage(Plan& plan, const std::vector<Node>& nodes, const Round& round);

// Whether the rank with this local rank on one of the group's nodes is in it.
bool is_member(const Group& group, std::uint32_t local_rank);

// Of the slowest group's loop. The seconds that it takes at most go before the iterations. Three
// iterations go before all but a loop that would then take five times as long as it may: that has
// one.
struct LoopLength {
    std::uint32_t iterations = 0;
    double at_most = std::numeric_limits<double>::infinity();
};

// How often each group runs its collective, of which one run takes so many seconds: for as long as
// the slowest group's loop lasts, so that they stay together, but at most ten times as often, and a
// thousand times. 0 seconds: a group that runs nothing.
std::vector<std::uint32_t> iterations_together(const std::vector<double>& seconds,
                                               const LoopLength& length);

struct Pace {
    LoopLength loop;
    // Since the run's begin, in seconds. No round of the tournament begins after the first, no
    // round with the named nodes after the second.
    double end_of_tournament = std::numeric_limits<double>::infinity();
    double end_of_retest = std::numeric_limits<double>::infinity();

    // Every measurement is to have as many iterations as it needs, not as were asked for.
    bool by_time() const { return loop.at_most < std::numeric_limits<double>::infinity(); }
};

// A quick run whose rounds take up to 20 s ends within three minutes.
Pace pace_of(std::uint32_t iterations, bool quick);

// The size of a quick run. A probe of all nodes begins with the first, and goes on with the next as
// long as there is one: the run takes at least as long as with the slowest part, of any speed, so
// that a round stays short; what is healthy is still far above its latency.
// `seconds`: of one collective of `bytes`. 0: `bytes` it is.
std::uint64_t first_probe(std::uint64_t largest, std::uint32_t ranks);
std::uint64_t next_probe(std::uint64_t bytes, double seconds, std::uint64_t largest);

}  // namespace distgpu::scaling
