// See sample_results.h.
#include "sample_results.h"

#include "analysis/bus_bandwidth.h"
#include "analysis/pairs.h"
#include "base/format.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace distgpu::scaling::sample {
namespace {

constexpr std::uint64_t pair_bytes = 1ULL << 30U;

// Deterministic noise of up to 2 %, by a multiplicative hash of `seed` (Knuth, volume 3, 6.4).
double noise(std::size_t seed) {
    const auto hash = static_cast<std::uint32_t>(seed * 2654435761U) >> 16U;
    return 1 + 0.02 * (static_cast<double>(hash) / 32768 - 1);
}

double rate(const Shape& shape, const Group& group) {
    if (shape.backend == "mpi") return group.nodes.size() == 1 ? 9e9 : 1.1e9;
    if (group.nodes.size() == 1) return 480e9;
    const bool slow = shape.slow_node && std::find(group.nodes.begin(), group.nodes.end(),
                                                   *shape.slow_node) != group.nodes.end();
    return slow ? 216e9 : 360e9;
}

double latency(const Group& group) {
    return group.nodes.size() == 1 ? 14e-6 : 30e-6 + 4e-6 * static_cast<double>(group.nodes.size());
}

Statistics time_of(const Shape& shape, const Group& group, std::uint64_t bytes, std::size_t seed) {
    const double factor = bus_factor(Collective::all_reduce, group.ranks).value_or(0);
    const double median =
        (latency(group) + static_cast<double>(bytes) * factor / rate(shape, group)) * noise(seed);
    return {.median = median,
            .min = median * 0.97,
            .p5 = median * 0.98,
            .p95 = median * 1.03,
            .p99 = median * 1.08,
            .cv = 0.014,
            .iterations = 20};
}

void measure(const Shape& shape, Results& results, std::size_t group, std::uint64_t bytes,
             bool in_place) {
    const std::size_t seed = results.measurements.size();
    results.measurements.push_back({.group = group,
                                    .in_place = in_place,
                                    .bytes = bytes,
                                    .time = time_of(shape, results.groups[group], bytes, seed)});
}

std::vector<Node> nodes_of(const Shape& shape) {
    std::vector<Node> nodes;
    for (std::uint32_t i = 0; i < shape.nodes; ++i) {
        Node node;
        node.name = formatted("node{:03}", i + 1);
        node.ranks = shape.ranks_per_node;
        for (std::uint32_t rank = 0; shape.backend == "nccl" && rank < node.ranks; ++rank) {
            node.gpus.push_back(formatted("NVIDIA H100 80GB HBM3 GPU-{:08x}", i * 16 + rank));
            node.rails.push_back(formatted("mlx5_{}", rank));
        }
        nodes.push_back(std::move(node));
    }
    return nodes;
}

std::vector<std::uint32_t> first_nodes(std::uint32_t count) {
    std::vector<std::uint32_t> nodes(count);
    std::iota(nodes.begin(), nodes.end(), 0U);
    return nodes;
}

void add_scaling_groups(const Shape& shape, Results& results) {
    for (std::uint32_t gpus = 2; gpus < shape.ranks_per_node; gpus *= 2) {
        results.groups.push_back(
            {.kind = Group::Kind::gpus, .nodes = {0}, .ranks = gpus, .number = gpus});
    }
    for (std::uint32_t count = 1;; count = std::min(count * 2, shape.nodes)) {
        results.groups.push_back({.kind = Group::Kind::nodes,
                                  .nodes = first_nodes(count),
                                  .ranks = count * shape.ranks_per_node,
                                  .number = count});
        if (count == shape.nodes) break;
    }
    for (std::size_t group = 0; group < results.groups.size(); ++group) {
        std::uint64_t bytes = 8;
        for (std::size_t i = 0; i < sizes; ++i, bytes *= 4) {
            measure(shape, results, group, bytes, false);
            measure(shape, results, group, bytes, true);
        }
    }
}

void add_pairs(const Shape& shape, Results& results) {
    if (shape.rounds == 0 || shape.nodes < 2) return;
    for (const Round& round : tournament(shape.nodes, shape.rounds)) {
        for (const Pair& pair : round) {
            results.groups.push_back({.kind = Group::Kind::pair,
                                      .nodes = {pair.first, pair.second},
                                      .ranks = 2 * shape.ranks_per_node});
            measure(shape, results, results.groups.size() - 1, pair_bytes, false);
        }
    }
}

// Made-up: each doubling of the nodes costs `loss`.
EfficiencyCurve curve(const Shape& shape, EfficiencyCurve::Kind kind, std::string subject,
                      double loss) {
    EfficiencyCurve curve;
    curve.kind = kind;
    curve.subject = std::move(subject);
    double efficiency = 1;
    for (std::uint32_t count = 1;; count = std::min(count * 2, shape.nodes)) {
        curve.points.push_back({count, efficiency});
        efficiency *= 1 - loss;
        if (count == shape.nodes) break;
    }
    return curve;
}

void derive(const Shape& shape, ReportInput& input) {
    using Kind = EfficiencyCurve::Kind;
    input.efficiency = {curve(shape, Kind::communication, "all-reduce float, 2 GiB", 0.09),
                        curve(shape, Kind::weak, "compute=120ms,allreduce=25M*40", 0.01),
                        curve(shape, Kind::weak, "compute=80ms,allgather=1G", 0.03),
                        curve(shape, Kind::strong, "compute=120ms,allreduce=25M*40", 0.06),
                        curve(shape, Kind::strong, "compute=80ms,allgather=1G", 0.1)};
    input.fits = {{.group = 0, .line = {.alpha = 14e-6, .beta = 480e9, .residual = 0.012}}};
    std::string limiter = "none";
    if (shape.slow_node) {
        limiter = input.results.nodes[*shape.slow_node].name;
        input.slow_parts = {{.name = limiter,
                             .kind = Limiter::Kind::node,
                             .relative = 0.6,
                             .robust_z = -31.2,
                             .node = shape.slow_node}};
        input.results.nodes[*shape.slow_node].facts = {"GPU 3: PCIe x8, where x16 is possible",
                                                       "mlx5_3: 14 symbol errors during the run"};
    }
    input.verdict = formatted(
        "Sample, nothing was measured. {} node{}: all-reduce 350 GB/s at 2 GiB, {:.0f}% of 1 node; "
        "limiter: {}",
        shape.nodes, shape.nodes == 1 ? "" : "s",
        100 * input.efficiency[0].points.back().efficiency, limiter);
}

}  // namespace

ReportInput results(const Shape& shape) {
    ReportInput input;
    Results& results = input.results;
    results.backend = shape.backend;
    results.started = "2026-11-21T12:00:00Z";
    results.fingerprint = {{"sample", "made up; nothing was measured"}, {"library", "NCCL 2.28.9"}};
    results.environment = {{"NCCL_DEBUG", "WARN"}, {"NCCL_IB_HCA", "mlx5"}};
    results.nodes = nodes_of(shape);
    add_scaling_groups(shape, results);
    add_pairs(shape, results);
    derive(shape, input);
    return input;
}

}  // namespace distgpu::scaling::sample
