// The results as one HTML page.
#include "base/format.h"
#include "report/formats.h"
#include "report/html/markup.h"
#include "report/html/pair_matrix.h"
#include "report/html/sections.h"
#include "report/html/style.h"
#include "report/units.h"
#include "report/words.h"

namespace distgpu::scaling {
namespace {

using html::escaped;
using html::section;

// The policy has the browser itself refuse whatever is not on the page.
std::string head(const ReportInput& input) {
    return formatted(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" "
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<title>nccl-scaling: {}</title>\n<style>{}</style>\n</head>\n<body>\n",
        escaped(input.verdict.empty() ? "partial results" : input.verdict), html::style);
}

std::string failure_box(const Failure& failure) {
    std::string text = formatted(
        "<div class=\"box\" role=\"alert\"><p><strong>Partial results: the run ended early."
        "</strong></p>\n<p>{}: {}</p>\n",
        escaped(failure.phase), escaped(failure.problem));
    if (!failure.missing.empty()) {
        text += formatted("<p>Missing: {}</p>\n", escaped(join(failure.missing, ", ")));
    }
    return text + "</div>\n";
}

std::string partial_box(const ReportInput& input) {
    if (is_complete(input)) return "";
    if (input.results.failure) return failure_box(*input.results.failure);
    return "<div class=\"box\">Partial results: the run has not ended.</div>\n";
}

std::string verdict(const ReportInput& input) {
    const Results& results = input.results;
    std::string text = "<h1>nccl-scaling</h1>\n";
    if (!input.verdict.empty()) {
        text += formatted("<p class=\"verdict\">{}</p>\n", escaped(input.verdict));
    }
    const std::string_view note = words::note(results);
    if (!note.empty()) text += formatted("<div class=\"box\">{}</div>\n", escaped(note));
    if (results.nodes.empty()) return text + partial_box(input);
    return text + partial_box(input) +
           formatted("<p class=\"faint\">{}, {}; back end {}; started {}</p>\n",
                     counted(results.nodes.size(), "node"), counted(total_ranks(results), "rank"),
                     escaped(results.backend), escaped(results.started));
}

std::string pairs(const ReportInput& input) {
    const auto& nodes = input.results.nodes;
    const auto matrix = html::pair_matrix(nodes, input.evidence);
    if (matrix.size == 0) return "";
    std::string text =
        "<p>A slow node has a dark row and column; a single dark cell is a pair whose "
        "routes collide.</p>\n";
    if (matrix.nodes_per_row > 1) {
        text += formatted(
            "<p>{} are too many for a row each: a row stands for up to {} nodes, and a cell shows "
            "the slowest of its pairs. --json writes all of them.</p>\n",
            counted(nodes.size(), "node"), matrix.nodes_per_row);
    }
    return text + html::to_svg(matrix);
}

}  // namespace

std::string to_html(const ReportInput& input) {
    const Results& results = input.results;
    return head(input) + "<header>\n" + verdict(input) + "</header>\n<main>\n" +
           section("Baseline and thresholds", html::judgement_section(results, input.judgement)) +
           section("Limiter", html::slow_part_table(input)) +
           section("Efficiency against linear", html::efficiency_plots(input.efficiency)) +
           section("Bus bandwidth over size", html::bandwidth_plots(results)) +
           section("Node pairs", pairs(input)) +
           section("Latency and bandwidth", html::fit_table(input)) +
           section("Published figures", html::reference_table(results)) +
           section("Results", html::measurement_tables(results)) +
           section("Nodes", html::node_table(results)) +
           section("Fingerprint", html::fingerprint_table(results)) +
           section("Environment", html::environment_table(results)) + "</main>\n</body>\n</html>\n";
}

}  // namespace distgpu::scaling
