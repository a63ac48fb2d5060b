// Writes pages of made-up results, for a browser to open, and metrics NAME.prom: sample_page
// FOLDER. For each page it prints what must be seen on it: file, lines' points, pictures, filled
// cells of the heat map, rows of the table of results. The numbers follow from the shapes below,
// not from the page.
#include "analysis/pairs.h"
#include "base/format.h"
#include "report/formats.h"
#include "report/report_json.h"
#include "report/times_report.h"
#include "sample_results.h"

#include <cstddef>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace distgpu::scaling;

struct Page {
    std::string name;
    std::string json;
    std::string metrics;  // for Prometheus; empty: there are none
    std::size_t points = 0;
    std::size_t plots = 0;
    std::size_t cells = 0;
    std::size_t rows = 0;
};

// A line a group of the first 2 and 4 of 8 GPUs and of `node_groups` groups of nodes; of more than
// one of these five curves of efficiency on three plots, with a point for each. Pairs have the heat
// map and, from two matches on, the matches over the run.
Page page(std::string name, const ReportInput& input, std::size_t node_groups, std::size_t cells,
          std::size_t other_rows) {
    const std::size_t groups = 2 + node_groups;
    const bool has_curves = node_groups > 1 && !input.efficiency.empty();
    const std::size_t of_pairs = cells == 0 ? 0 : other_rows == 1 ? 1 : 2;
    return {std::move(name),
            to_json(input),
            to_prometheus(input),
            groups * sample::sizes + (has_curves ? 5 * node_groups : 0),
            1 + std::size_t{has_curves ? 3U : 0U} + of_pairs,
            cells,
            groups * sample::sizes * 2 + other_rows};
}

Page page(std::string name, const sample::Shape& shape, std::size_t node_groups, std::size_t cells,
          std::size_t other_rows) {
    return page(std::move(name), sample::results(shape), node_groups, cells, other_rows);
}

Page partial() {
    ReportInput input = sample::results({.nodes = 4, .rounds = 0});
    input.results.failure = Failure{"all-reduce, 1 MiB, 4 nodes",
                                    "no answer within 60 s",
                                    {"rank 5 on node003", "rank 6 on node003"}};
    input.verdict.clear();
    input.efficiency.clear();
    return page("partial", input, 3, 0, 0);
}

// Names and values that would be markup if they were not escaped.
Page hostile() {
    ReportInput input = sample::results({.nodes = 2, .rounds = 1});
    const std::string markup =
        "</script><script>console.error('run')</script><img src=http://localhost/x>";
    input.results.nodes[1].name = markup;
    input.results.environment.push_back({"NCCL_\"><script>", markup});
    input.results.fingerprint.emplace_back("library & more", "'\"></td>" + markup);
    input.verdict += markup;
    input.slow_parts = {{markup, Limiter::Kind::node, 0.5, std::nullopt, 1U}};
    input.results.nodes[1].facts = {markup};
    return page("hostile", input, 2, 2, 1);
}

// Held against an earlier run: one measurement failed, one is missing.
Page judged() {
    ReportInput input = sample::results({.nodes = 2, .rounds = 0});
    Threshold least;
    least.bandwidth = 2e9;
    input.judgement = {{{JudgedDemand::Kind::baseline,
                         "old.json",
                         0.05,
                         {{{0, 1.5e9, least}}, {least}, 7},
                         {{"driver", "575.1", "570.8"}}}}};
    return page("judged", input, 2, 0, 0);
}

// Training times given by the user: efficiencies without a measurement, of three times on two
// plots.
Page times() {
    const std::vector<ScalingPoint> strong{{1, 100, 1}, {2, 50, 1}, {4, 25, 1}};
    const std::vector<ScalingPoint> weak{{1, 100, 1}, {2, 50, 2}, {4, 25, 4}};
    return {"times", times_json({weak, strong}), "", 6, 2, 0, 0};
}

// Of 64 rows of 8 nodes each, those that a run of so many rounds fills.
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

// Each node has met each other one, so that k nodes make k (k - 1) cells and half as many rows, of
// which 200 are shown.
std::vector<Page> pages() {
    return {page("nodes-2", {.nodes = 2, .rounds = 1}, 2, 2, 1),
            page("nodes-4", {.nodes = 4, .rounds = 3, .slow_node = 2}, 3, 12, 6),
            page("nodes-8", {.nodes = 8, .rounds = 7, .slow_node = 5}, 4, 56, 28),
            page("nodes-64", {.nodes = 64, .rounds = 63, .slow_node = 40}, 7, 64 * 63, 200),
            page("nodes-512", {.nodes = 512, .rounds = matches_per_node, .slow_node = 300}, 10,
                 cells_of_512(matches_per_node), 200),
            page("one-node", {.nodes = 1}, 1, 0, 0),
            page("no-pairs", {.nodes = 4, .rounds = 0}, 3, 0, 0),
            judged(),
            partial(),
            hostile(),
            times()};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    for (const Page& page : pages()) {
        std::ofstream file(distgpu::formatted("{}/{}.html", argv[1], page.name));
        file << to_html(page.json);
        std::ofstream metrics(distgpu::formatted("{}/{}.prom", argv[1], page.name));
        metrics << page.metrics;
        if (!file.flush() || !metrics.flush()) return 1;
        std::cout << distgpu::formatted("{}.html {} {} {} {}\n", page.name, page.points, page.plots,
                                        page.cells, page.rows);
    }
}
