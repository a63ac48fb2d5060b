// The results of a run as a plain value: `run` fills it, `analysis` reads it, `report` prints it.
// Sizes are in bytes, times in seconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distgpu::scaling {

enum class Collective : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    broadcast,
    all_to_all,
    send_recv,
};

enum class DataType : std::uint8_t { f32, f16, bf16 };

// A measured operation, without the group that runs it. Reductions compute sums.
struct Operation {
    Collective collective = Collective::all_reduce;
    DataType type = DataType::f32;
    bool in_place = false;
    std::uint64_t bytes = 0;  // the larger of the send and receive buffers, as in nccl-tests

    bool operator==(const Operation&) const = default;
};

// Over the iterations, each of which lasts as long as on its slowest rank; `mean` is the exception.
struct Statistics {
    double median = 0;
    double min = 0;
    double p5 = 0;
    double p95 = 0;
    double p99 = 0;
    double cv = 0;  // coefficient of variation: standard deviation over mean
    std::uint32_t iterations = 0;
    double mean = 0;  // of the whole loop, averaged over the ranks, as in nccl-tests

    bool operator==(const Statistics&) const = default;
};

// A subset of the run's ranks that has its own communicator.
struct Group {
    enum class Kind : std::uint8_t {
        gpus,       // the first n GPUs of one node
        nodes,      // all GPUs of the first k nodes; the world if k is all nodes. With k = 1 the
                    // result is the median of all nodes that have as many GPUs as the first
        node,       // all GPUs of one node, while every other node does the same
        pair,       // all GPUs of two nodes
        rail,       // the GPUs with one local rank on all nodes
        pair_rail,  // the GPUs with one local rank on two nodes
    };
    Kind kind = Kind::nodes;
    std::vector<std::uint32_t> nodes;  // indices into Results::nodes
    std::uint32_t ranks = 0;           // on all these nodes together
    std::uint32_t number = 0;          // of gpus and nodes: the count; of rails: the local rank

    bool operator==(const Group&) const = default;
};

// True for the groups of growing size that E(N) is computed from: the first GPUs of a node, the
// first nodes.
inline bool is_scaling_group(const Group& group) {
    return group.kind == Group::Kind::gpus || group.kind == Group::Kind::nodes;
}

struct Measurement {
    std::size_t group = 0;  // index into Results::groups
    Operation operation;
    Statistics time;

    bool operator==(const Measurement&) const = default;
};

struct Node {
    std::string name;
    std::uint32_t ranks = 0;
    std::vector<std::string> gpus;   // model and UUID by local rank; empty with host memory
    std::vector<std::string> rails;  // HCA port near each local rank: "mlx5_0"; may be empty
    std::string switches{};          // from the top to its own: "s1.s4"; empty if unknown
    std::string fault{};             // finding of `distgpu check --node`; empty if none

    bool operator==(const Node&) const = default;
};

// The node's own switch; empty if unknown.
inline std::string leaf_of(const Node& node) {
    const auto dot = node.switches.rfind('.');
    return dot == std::string::npos ? node.switches : node.switches.substr(dot + 1);
}

// Why the run ended early.
struct Failure {
    std::string phase;  // "all-reduce, 1 MiB, 4 nodes"
    std::string problem;
    std::vector<std::string> missing;  // "rank 5 on node03"

    bool operator==(const Failure&) const = default;
};

// Names with their values.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

// Two runs are comparable if these are equal: library, its version, driver, GPU model, ..., in this
// order.
using Fingerprint = NamedValues;

struct Results {
    std::string backend;  // "nccl" or "mpi"
    std::string started;  // UTC, ISO 8601
    Fingerprint fingerprint;
    NamedValues environment;  // variables of rank 0 that are on the allow-list
    std::vector<Node> nodes;
    std::vector<Group> groups;
    std::vector<Measurement> measurements;
    std::optional<Failure> failure;  // nullopt if complete
    bool checked = true;             // whether data was checked

    bool operator==(const Results&) const = default;
};

// All GPUs of all nodes.
inline bool is_world(const Results& results, const Group& group) {
    return group.kind == Group::Kind::nodes && group.nodes.size() == results.nodes.size();
}

}  // namespace distgpu::scaling
