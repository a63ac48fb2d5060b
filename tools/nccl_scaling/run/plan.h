// The plan of a run: which groups are measured with which operations, in which order and for how
// long. Every rank computes the same plan, and adds the same rounds of pairs. Rank 0 decides by its
// clock when to stop, and sends this to the others before each round.
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

// The operations that the user selected. No list is empty.
struct Selection {
    std::vector<Collective> collectives;
    std::vector<DataType> types;
    std::vector<std::uint64_t> sizes;  // ascending
    bool quick = false;                // only measurements that find a limiter
};

// Backend::supports().
using IsSupported = std::function<bool(const Operation& operation)>;

// In the order in which they are measured, without those that the back end does not support.
std::vector<Operation> operations_of(const Selection& selection, const IsSupported& is_supported);

// The operation with which nodes, pairs and rails are compared: the largest size of the first one.
Operation choose_comparison_operation(const std::vector<Operation>& operations);

// Disjoint groups that are measured at the same time, one operation after the other.
struct Stage {
    std::vector<std::size_t> groups;  // indices into Plan::groups
    std::vector<Operation> operations;
    bool checked = false;       // each operation's result is first compared with known data
    std::uint32_t repeats = 1;  // with the same communicators
    // The group that gets the median result of the groups that are as large.
    std::optional<std::size_t> median_group;
};

struct Plan {
    std::vector<Group> groups;
    std::vector<Stage> stages;
    Operation comparison;  // with which nodes, pairs and rails are compared
    // Groups of earlier rounds, by kind, pair and local rank: a pair that meets again reuses its
    // group.
    std::map<std::tuple<Group::Kind, Pair, std::uint32_t>, std::size_t> round_groups;
};

// First all selected operations on 2, 4, ... GPUs of the first node, on every node alone at the
// same time, and then on 2, 4, ... and all nodes; for a quick run only on nodes alone and on all.
// Then the measurements that identify slow parts, with the comparison operation and without checks:
// nodes alone again and, if nodes have several GPUs, rails. Groups of one rank move no data and are
// left out unless the run has only one rank.
Plan make_plan(const std::vector<Node>& nodes, const Selection& selection,
               const IsSupported& is_supported);

// A round of pairs, with the comparison operation. Adds new groups to the plan.
Stage pairs_stage(Plan& plan, const std::vector<Node>& nodes, const Round& round);
// The rails of the same pairs, all at the same time. Without groups if no node has two GPUs.
Stage pair_rails_stage(Plan& plan, const std::vector<Node>& nodes, const Round& round);

// True if the group contains the rank with this local rank on one of the group's nodes.
bool is_member(const Group& group, std::uint32_t local_rank);

// Length of the slowest group's loop. It has fewer iterations if they would take longer than
// `max_seconds`, but at least three, or one if three would take more than five times as long.
struct LoopLength {
    std::uint32_t iterations = 0;
    double max_seconds = std::numeric_limits<double>::infinity();
};

// The iterations of groups that are measured at the same time. `seconds`: of one run in each group,
// 0 if the group runs nothing. Each group runs for as long as the slowest one, but at most ten
// times as often, and at most a thousand times.
std::vector<std::uint32_t> balance_iterations(const std::vector<double>& seconds,
                                              const LoopLength& length);

struct Schedule {
    LoopLength loop;
    // Seconds since the begin of the run, after which no further round begins.
    double tournament_deadline = std::numeric_limits<double>::infinity();
    double retest_deadline = std::numeric_limits<double>::infinity();

    // True if the time limits the number of iterations.
    bool is_time_limited() const {
        return loop.max_seconds < std::numeric_limits<double>::infinity();
    }
};

// A quick run ends within three minutes if no round takes longer than 20 s.
Schedule make_schedule(std::uint32_t iterations, bool quick);

// Sizes with which a quick run probes all nodes: the first one, and then the next one until that is
// 0. The last probed size is used. It adapts to the slowest part, whatever its speed, so that a
// round stays short, and is still large enough that latency does not dominate on healthy parts.
// `seconds`: of one collective of `bytes`.
std::uint64_t first_probe_size(std::uint64_t largest, std::uint32_t ranks);
std::uint64_t next_probe_size(std::uint64_t bytes, double seconds, std::uint64_t largest);

}  // namespace distgpu::scaling
