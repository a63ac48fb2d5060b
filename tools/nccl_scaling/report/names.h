// Texts for quantities, operations, groups and limiters, on the terminal and in JSON.
#pragma once

#include "analysis/suspects.h"
#include "results/results.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace distgpu::scaling {

// "8 B", "64 KiB", "1.5 GiB": in the largest unit that gives at least 1, with up to two decimals.
std::string format_bytes(std::uint64_t bytes);

// "12.34": in GB/s of 1e9 bytes, as in nccl-tests; "n/a" for nullopt.
std::string format_bandwidth(std::optional<double> bytes_per_second);

// "94.2 %" from 0.942.
std::string format_percent(double fraction);

// "all-reduce float, 64 MiB, in place"
std::string operation_name(const Operation& operation);

// "all-reduce float, 64 MiB, in place, 4 nodes"
std::string measurement_name(const Results& results, const Measurement& measurement);

// "4 nodes", "2 GPUs of node01" ("2 ranks of ..." in host memory), "node01 - node03",
// "rail 3 (mlx5_3)"; with the port if it has the same name on all nodes.
std::string group_label(const Results& results, const Group& group);

// "node17", "node17/mlx5_3", "rail mlx5_3", "leaf s4", "uplink of s4", "spine", "paths", "node17
// (intermittent)"; "rail 3" for a port without a name, or with different names on the nodes.
std::string limiter_name(const Results& results, const Limiter& limiter);

// Names in JSON, in the order of the enumerations.
inline constexpr std::array<std::string_view, 6> group_kind_names{"gpus", "nodes", "node",
                                                                  "pair", "rail",  "pair_rail"};
inline constexpr std::array<std::string_view, 7> limiter_kind_names{
    "slow node",        "slow port",   "slow rail",
    "slow switch",      "slow uplink", "slow between switches",
    "routing collision"};

inline std::string_view json_name(Group::Kind kind) {
    return group_kind_names.at(static_cast<std::size_t>(kind));
}
inline std::string_view json_name(Limiter::Kind kind) {
    return limiter_kind_names.at(static_cast<std::size_t>(kind));
}

// A note that must accompany the results everywhere; may be empty.
inline std::string_view backend_note(const Results& results) {
    return results.backend == "mpi" ? "host memory; not a GPU measurement" : "";
}

}  // namespace distgpu::scaling
