// What quantities, operations, groups and limiters are called, on the terminal and in JSON.
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

// "8 B", "64 KiB", "1.5 GiB": the largest power of 1024 that leaves at least 1, up to two decimals.
std::string format_bytes(std::uint64_t bytes);

// "12.34": GB/s of 1e9 bytes, as nccl-tests counts, from bytes per second; "n/a" of nothing.
std::string format_bandwidth(std::optional<double> bytes_per_second);

// "94.2 %" from 0.942.
std::string format_percent(double fraction);

// "all-reduce float, 64 MiB, in place"
std::string operation_name(const Subject& subject);

// "all-reduce float, 64 MiB, in place, 4 nodes"
std::string measurement_name(const Results& results, const Measurement& measurement);

// "4 nodes", "2 GPUs of node01" ("2 ranks of ..." in host memory), "node01 - node03",
// "rail 3 (mlx5_3)"; the port where all nodes call it the same.
std::string group_label(const Results& results, const Group& group);

// "node17", "node17/mlx5_3", "rail mlx5_3", "leaf s4", "uplink of s4", "spine", "paths", "node17
// (intermittent)"; "rail 3" for a port without a name or with another name on each node.
std::string limiter_name(const Results& results, const Limiter& limiter);

// JSON's words, in the order of the enumerations.
inline constexpr std::array<std::string_view, 6> group_words{"gpus", "nodes", "node",
                                                             "pair", "rail",  "pair_rail"};
inline constexpr std::array<std::string_view, 7> limiter_words{
    "slow node",        "slow port",   "slow rail",
    "slow switch",      "slow uplink", "slow between switches",
    "routing collision"};

inline std::string_view word_of(Group::Kind kind) {
    return group_words.at(static_cast<std::size_t>(kind));
}
inline std::string_view word_of(Limiter::Kind kind) {
    return limiter_words.at(static_cast<std::size_t>(kind));
}

// What must be said wherever the results are shown; empty: nothing.
inline std::string_view note_on(const Results& results) {
    return results.backend == "mpi" ? "host memory; not a GPU measurement" : "";
}

}  // namespace distgpu::scaling
