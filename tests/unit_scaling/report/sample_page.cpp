// Writes pages of made-up results, for a browser to open: sample_page FOLDER. For each it prints
// what must be seen on it: file, lines' points, plots, filled cells of the heat map, rows of the
// table of results. The numbers follow from the shapes below, not from the page.
#include "base/format.h"
#include "report/formats.h"
#include "sample_results.h"

#include <cstddef>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace distgpu::scaling;

struct Page {
    std::string name;
    ReportInput input;
    std::size_t points = 0;
    std::size_t plots = 0;
    std::size_t cells = 0;
    std::size_t rows = 0;
};

// A line a group of the first 2 and 4 of 8 GPUs and of `node_groups` groups of nodes; of more than
// one of these five curves of efficiency on three plots, with a point for each.
Page page(std::string name, const sample::Shape& shape, std::size_t node_groups, std::size_t cells,
          std::size_t other_rows) {
    const std::size_t groups = 2 + node_groups;
    const bool has_curves = node_groups > 1;
    return {std::move(name),
            sample::results(shape),
            groups * sample::sizes + (has_curves ? 5 * node_groups : 0),
            1 + std::size_t{has_curves ? 3U : 0U} + std::size_t{cells > 0},
            cells,
            groups * sample::sizes * 2 + other_rows};
}

Page partial() {
    Page partial = page("partial", {.nodes = 4, .rounds = 0}, 3, 0, 0);
    partial.input.results.failure = Failure{"all-reduce, 1 MiB, 4 nodes",
                                            "no answer within 60 s",
                                            {"rank 5 on node003", "rank 6 on node003"}};
    partial.input.verdict.clear();
    partial.input.efficiency.clear();
    partial.points -= 15;  // five curves of three points
    partial.plots = 1;
    return partial;
}

// Names and values that would be markup if they were not escaped.
Page hostile() {
    Page hostile = page("hostile", {.nodes = 2, .rounds = 1}, 2, 2, 1);
    const std::string markup = "<script>console.error('run')</script><img src=http://localhost/x>";
    hostile.input.results.nodes[1].name = markup;
    hostile.input.results.environment.push_back({"NCCL_\"><script>", markup});
    hostile.input.results.fingerprint.emplace_back("library & more", "'\"></td>" + markup);
    hostile.input.verdict += markup;
    return hostile;
}

// Training times given by the user: efficiencies without a measurement.
Page times() {
    ReportInput input;
    input.results.backend = "times";
    input.verdict = "4 nodes: 100% of linear (strong)";
    input.efficiency = {{.kind = EfficiencyCurve::Kind::strong,
                         .subject = "given times",
                         .points = {{1, 1}, {2, 1}, {4, 1}}}};
    return {"times", input, 3, 1, 0, 0};
}

// Each node has met each other one, so that k nodes make k (k - 1) cells and half as many rows,
// of which 200 are shown. 512 nodes are 64 rows of 8 nodes, which have also met among themselves.
std::vector<Page> pages() {
    return {page("nodes-2", {.nodes = 2, .rounds = 1}, 2, 2, 1),
            page("nodes-4", {.nodes = 4, .rounds = 3, .slow_node = 2}, 3, 12, 6),
            page("nodes-8", {.nodes = 8, .rounds = 7, .slow_node = 5}, 4, 56, 28),
            page("nodes-64", {.nodes = 64, .rounds = 63, .slow_node = 40}, 7, 64 * 63, 200),
            page("nodes-512", {.nodes = 512, .rounds = 511, .slow_node = 300}, 10, 64 * 64, 200),
            page("one-node", {.nodes = 1}, 1, 0, 0),
            page("no-pairs", {.nodes = 4, .rounds = 0}, 3, 0, 0),
            partial(),
            hostile(),
            times()};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    for (const Page& page : pages()) {
        std::ofstream file(distgpu::formatted("{}/{}.html", argv[1], page.name));
        file << to_html(page.input);
        if (!file.flush()) return 1;
        std::cout << distgpu::formatted("{}.html {} {} {} {}\n", page.name, page.points, page.plots,
                                        page.cells, page.rows);
    }
}
