// What one run measured: a plain value. The run fills it, the analysis reads it, the report prints
// it. Sizes in bytes, times in seconds.
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

// What is measured, apart from the group that does it. Reductions compute sums.
struct Subject {
    Collective collective = Collective::all_reduce;
    DataType type = DataType::f32;
    bool in_place = false;
    std::uint64_t bytes = 0;  // nccl-tests' size: of the larger of the send and receive buffers

    bool operator==(const Subject&) const = default;
};

// Over the iterations, of the slowest rank's time in each; `mean` but not.
struct Statistics {
    double median = 0;
    double min = 0;
    double p5 = 0;
    double p95 = 0;
    double p99 = 0;
    double cv = 0;  // standard deviation over mean
    std::uint32_t iterations = 0;
    double mean = 0;  // of the whole loop, averaged over the ranks: what nccl-tests shows

    bool operator==(const Statistics&) const = default;
};

// Some of the run's ranks, as a communicator of their own.
struct Group {
    enum class Kind : std::uint8_t {
        gpus,       // the first n GPUs of one node
        nodes,      // all GPUs of the first k nodes; of all k: the world. One node stands for all
                    // that have as many GPUs: its result is that of the median one
        node,       // all GPUs of one node, while each other node does the same
        pair,       // all GPUs of two nodes
        rail,       // the GPUs with one local rank, of all nodes
        pair_rail,  // the GPUs with one local rank, of two nodes
    };
    Kind kind = Kind::nodes;
    std::vector<std::uint32_t> nodes;  // indices into Results::nodes
    std::uint32_t ranks = 0;           // of all these nodes together
    std::uint32_t number = 0;          // gpus, nodes: how many; rails: the local rank

    bool operator==(const Group&) const = default;
};

// One of those by whose size E(N) goes: the first GPUs of a node, the first nodes.
inline bool is_scaling_group(const Group& group) {
    return group.kind == Group::Kind::gpus || group.kind == Group::Kind::nodes;
}

struct Measurement {
    std::size_t group = 0;  // index into Results::groups
    Subject subject;
    Statistics time;

    bool operator==(const Measurement&) const = default;
};

struct Node {
    std::string name;
    std::uint32_t ranks = 0;
    std::vector<std::string> gpus;  // model and UUID by local rank; empty: host memory
    std::vector<std::string>
        rails;               // the network port near each local rank: "mlx5_0"; may be empty
    std::string switches{};  // from the top to the one that it is on: "s1.s4"; empty: unknown
    std::string fault{};     // what `distgpu check --node` found there; empty: nothing

    bool operator==(const Node&) const = default;
};

// The switch that the node is on; empty: unknown.
inline std::string leaf_of(const Node& node) {
    const auto dot = node.switches.rfind('.');
    return dot == std::string::npos ? node.switches : node.switches.substr(dot + 1);
}

// Why the run ended before its end.
struct Failure {
    std::string phase;  // "all-reduce, 1 MiB, 4 nodes"
    std::string problem;
    std::vector<std::string> missing;  // "rank 5 on node03"

    bool operator==(const Failure&) const = default;
};

// Names with their values.
using NamedValues = std::vector<std::pair<std::string, std::string>>;

// What makes two runs comparable: library, its version, driver, GPU model, ... in this order.
using Fingerprint = NamedValues;

struct Results {
    std::string backend;  // "nccl" or "mpi"
    std::string started;  // UTC, ISO 8601
    Fingerprint fingerprint;
    NamedValues environment;  // of the allow-list, the variables that are set on rank 0
    std::vector<Node> nodes;
    std::vector<Group> groups;
    std::vector<Measurement> measurements;
    std::optional<Failure> failure;  // nothing: complete
    bool checked = true;             // whether data was checked

    bool operator==(const Results&) const = default;
};

// All GPUs of all nodes.
inline bool is_world(const Results& results, const Group& group) {
    return group.kind == Group::Kind::nodes && group.nodes.size() == results.nodes.size();
}

}  // namespace distgpu::scaling
