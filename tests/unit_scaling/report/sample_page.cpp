// Usage: sample_page FOLDER. Writes pages with synthetic results of clusters of several sizes, for
// tests in a browser: t = alpha + f bytes / beta with invented constants. For each page it prints
// its file, and the expected numbers of points of lines, pictures, filled cells of the heat map,
// and rows of the table of results. These follow from the shapes below, not from the page.
#include "analysis/collectives.h"
#include "analysis/pairs.h"
#include "base/format.h"
#include "report/formats.h"
#include "synthetic_results.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace distgpu::scaling;
using distgpu::formatted;

struct Shape {
    std::uint32_t nodes = 4;
    std::uint32_t ranks_per_node = 8;
    std::uint32_t rounds = 3;  // of the tournament
    std::optional<std::uint32_t> slow_node =
        std::nullopt;  // its network has 60 % of the others' rate
};

constexpr std::size_t sizes = 15;  // 8 B, 32 B, ... 2 GiB

constexpr std::uint64_t pair_bytes = 1ULL << 30U;

// Noise of up to 2 %, from a multiplicative hash of `seed` (Knuth, volume 3, 6.4).
double noise(std::size_t seed) {
    const auto hash = static_cast<std::uint32_t>(seed * 2654435761U) >> 16U;
    return 1 + 0.02 * (static_cast<double>(hash) / 32768 - 1);
}

void measure(const Shape& shape, Results& results, std::size_t group, std::uint64_t bytes,
             bool in_place) {
    const auto& [kind, nodes, ranks, number] = results.groups[group];
    const bool is_alone = nodes.size() == 1;
    const bool is_slow = shape.slow_node && std::ranges::count(nodes, *shape.slow_node) > 0;
    const double latency = is_alone ? 14e-6 : 30e-6 + 4e-6 * static_cast<double>(nodes.size());
    const double rate = is_alone ? 480e9 : is_slow ? 216e9 : 360e9;
    const double factor = info_of(Collective::all_reduce).bus_factor(ranks);
    const double median =
        (latency + static_cast<double>(bytes) * factor / rate) * noise(results.measurements.size());
    results.measurements.push_back({group,
                                    {Collective::all_reduce, DataType::f32, in_place, bytes},
                                    {.median = median,
                                     .min = median * 0.97,
                                     .p5 = median * 0.98,
                                     .p95 = median * 1.03,
                                     .p99 = median * 1.08,
                                     .cv = 0.014,
                                     .iterations = 20}});
}

void add_scaling_groups(const Shape& shape, Results& results) {
    for (std::uint32_t gpus = 2; gpus < shape.ranks_per_node; gpus *= 2) {
        add_group(results,
                  {.kind = Group::Kind::gpus, .nodes = {0}, .ranks = gpus, .number = gpus});
    }
    for (std::uint32_t count = 1;; count = std::min(count * 2, shape.nodes)) {
        add_nodes(results, count);
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
            const auto group = add_group(results, {.kind = Group::Kind::pair,
                                                   .nodes = {pair.first, pair.second},
                                                   .ranks = 2 * shape.ranks_per_node});
            measure(shape, results, group, pair_bytes, false);
        }
    }
}

// All-reduce of float with these sizes, out of place and in place, on 2, 4, ... GPUs of the first
// node and on 1, 2, 4, ... and all nodes; pairs at 1 GiB.
Report sample_report(const Shape& shape) {
    Results results = synthetic_results(shape.nodes, shape.ranks_per_node);
    results.backend = "nccl";
    results.started = "2026-11-21T12:00:00Z";
    results.fingerprint = {{"sample", "made up; nothing was measured"}, {"library", "NCCL 2.28.9"}};
    results.environment = {{"NCCL_DEBUG", "WARN"}, {"NCCL_IB_HCA", "mlx5"}};
    for (Node& node : results.nodes) {
        for (std::uint32_t rank = 0; rank < node.ranks; ++rank) {
            node.gpus.push_back(formatted("NVIDIA H100 80GB HBM3 GPU-{:08x}", rank));
            node.rails.push_back(formatted("mlx5_{}", rank));
        }
    }
    add_scaling_groups(shape, results);
    add_pairs(shape, results);
    if (shape.slow_node) results.nodes[*shape.slow_node].fault = "GPU 0000:3b:00.0 (H100): gone";
    Report report = make_report(results);
    report.verdict.insert(0, "Sample, nothing was measured. ");
    return report;
}

struct Page {
    std::string name;
    std::string json;
    std::size_t points = 0;
    std::size_t plots = 0;
    std::size_t cells = 0;
    std::size_t rows = 0;
};

// A line for each group: the first 2 and 4 of 8 GPUs, and `node_groups` groups of nodes. With more
// than one of these there is an efficiency curve with a point for each. Pairs have the heat map.
Page page(std::string name, const Report& input, std::size_t node_groups, std::size_t cells,
          std::size_t other_rows) {
    const std::size_t groups = 2 + node_groups;
    const bool has_curves = node_groups > 1 && !input.efficiency.empty();
    return {std::move(name),
            to_json(input),
            groups * sizes + (has_curves ? node_groups : 0),
            std::size_t{1} + (has_curves ? 1 : 0) + (cells > 0 ? 1 : 0),
            cells,
            groups * sizes * 2 + other_rows};
}

Page partial() {
    Report input = sample_report({.nodes = 4, .rounds = 0});
    input.results.failure = Failure{
        "all-reduce, 1 MiB, 4 nodes", "no progress for 60 s", {"rank 5 on n2", "rank 6 on n2"}};
    input.verdict.clear();
    input.efficiency.clear();
    return page("partial", input, 3, 0, 0);
}

// Names and values that would become markup without escaping.
Page hostile() {
    Report input = sample_report({.nodes = 2, .rounds = 1});
    const std::string markup =
        "</script><script>console.error('run')</script><img src=http://localhost/x>";
    input.results.nodes[1].name = markup;
    input.results.environment.push_back({"NCCL_\"><script>", markup});
    input.results.fingerprint.emplace_back("library & more", "'\"></td>" + markup);
    input.verdict += markup;
    input.slow_parts = {{markup, Limiter::Kind::node, 0.5, std::nullopt, 1U}};
    input.results.nodes[1].fault = markup;
    return page("hostile", input, 2, 2, 1);
}

// Compared with an earlier run: one measurement failed, one is missing.
Page compared() {
    Report input = sample_report({.nodes = 2, .rounds = 0});
    input.comparison = Comparison{"old.json",
                                  0.05,
                                  {"driver is '570.8' there, '575.1' here"},
                                  std::vector<Change>(8),
                                  {{0, 2e9, 1.5e9}},
                                  {"all-reduce float, 1 GiB, 64 ranks"}};
    return page("compared", input, 2, 0, 0);
}

// The cells that a run with `rounds` rounds fills; each of the 64 rows stands for 8 nodes.
std::size_t cells_of_512(std::uint32_t rounds) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> cells;
    for (const Round& round : tournament(512, rounds)) {
        for (const auto& [first, second] : round) {
            cells.insert({first / 8, second / 8});
            cells.insert({second / 8, first / 8});
        }
    }
    return cells.size();
}

// Every node has met every other, so that k nodes give k (k - 1) cells and half as many rows, of
// which at most 200 are shown.
std::vector<Page> pages() {
    return {page("nodes-2", sample_report({.nodes = 2, .rounds = 1}), 2, 2, 1),
            page("nodes-4", sample_report({.nodes = 4, .rounds = 3, .slow_node = 2}), 3, 12, 6),
            page("nodes-8", sample_report({.nodes = 8, .rounds = 7, .slow_node = 5}), 4, 56, 28),
            page("nodes-64", sample_report({.nodes = 64, .rounds = 63, .slow_node = 40}), 7,
                 64 * 63, 200),
            page("nodes-512",
                 sample_report({.nodes = 512, .rounds = matches_per_node, .slow_node = 300}), 10,
                 cells_of_512(matches_per_node), 200),
            page("one-node", sample_report({.nodes = 1}), 1, 0, 0),
            page("no-pairs", sample_report({.nodes = 4, .rounds = 0}), 3, 0, 0),
            compared(),
            partial(),
            hostile()};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    for (const Page& page : pages()) {
        std::ofstream file(formatted("{}/{}.html", argv[1], page.name));
        file << to_html(page.json);
        if (!file.flush()) return 1;
        std::cout << formatted("{}.html {} {} {} {}\n", page.name, page.points, page.plots,
                               page.cells, page.rows);
    }
}
