// Add a row only with a source that its reader can open.
#include "report/reference_figures.h"

#include "analysis/bus_bandwidth.h"
#include "base/format.h"
#include "report/units.h"

#include <algorithm>

namespace distgpu::scaling {
namespace {

constexpr double gb = 1e9;
constexpr std::uint64_t gib = 1ULL << 30U;
constexpr std::string_view ml_engineering =
    "https://github.com/stas00/ml-engineering/blob/master/network/README.md";
constexpr std::string_view nccl_maintainer = "https://github.com/NVIDIA/nccl-tests/issues/212";
constexpr std::string_view azure_a100 =
    "https://github.com/Azure/azurehpc-health-checks/blob/main/conf/nd96asr_v4.conf";
constexpr std::string_view azure_h100 =
    "https://github.com/Azure/azurehpc-health-checks/blob/main/conf/nd96isr_h100_v5.conf";

// The measurement that a figure of this many nodes and ranks is held against; null: there is none.
const Measurement* plateau(const Results& results, const ReferenceFigure& figure) {
    const Measurement* largest = nullptr;
    for (const Measurement& measurement : results.measurements) {
        const Group& group = results.groups[measurement.group];
        const bool comparable =
            group.kind == Group::Kind::nodes && group.nodes.size() == figure.nodes &&
            group.ranks == figure.ranks && measurement.collective == Collective::all_reduce &&
            measurement.op == Op::sum && !measurement.in_place && measurement.bytes >= gib;
        if (comparable && (largest == nullptr || measurement.bytes > largest->bytes)) {
            largest = &measurement;
        }
    }
    return largest;
}

bool has_only(const Results& results, std::string_view gpu) {
    return std::all_of(results.nodes.begin(), results.nodes.end(), [&](const Node& node) {
        return !node.gpus.empty() &&
               std::all_of(node.gpus.begin(), node.gpus.end(), [&](const std::string& model) {
                   return model.find(gpu) != std::string::npos;
               });
    });
}

}  // namespace

const std::vector<ReferenceFigure>& reference_figures() {
    static const std::vector<ReferenceFigure> figures{
        {"A100", 1, 8, 234.89 * gb, 16 * gib, "", "", "measured", ml_engineering, ""},
        {"A100", 1, 8, 228 * gb, 8 * gib, "", "", "lower limit", azure_a100, ""},
        {"H100", 1, 8, 370 * gb, 0, "Ring", "", "expected", nccl_maintainer, "2024-05-06"},
        {"H100", 1, 8, 480 * gb, 0, "NVLS", "", "expected", nccl_maintainer, "2024-05-06"},
        {"H100", 1, 8, 460 * gb, 16 * gib, "", "", "lower limit", azure_h100, ""},
        {"H200", 1, 8, 367.61 * gb, 16 * gib, "Ring", "2.27.7", "measured", ml_engineering, ""},
        {"H200", 1, 8, 482.26 * gb, 16 * gib, "NVLS", "2.27.7", "measured", ml_engineering, ""},
        {"H200", 4, 32, 364.87 * gb, 4 * gib, "Ring", "2.27.7", "measured", ml_engineering,
         "2026-08-07"},
        {"B200", 1, 8, 838.0 * gb, 8 * gib, "NVLS", "2.27.7", "measured", ml_engineering,
         "2026-08-09"},
        {"B200", 4, 32, 381.80 * gb, 16 * gib, "", "2.27.7", "measured", ml_engineering, ""},
    };
    return figures;
}

std::string reference_text(const ReferenceFigure& figure) {
    std::string text = formatted("{} GB/s ({}", format_bandwidth(figure.busbw), figure.kind);
    if (figure.bytes != 0) text += ", " + format_bytes(figure.bytes);
    if (!figure.algorithm.empty()) text += formatted(", {}", figure.algorithm);
    if (!figure.nccl.empty()) text += formatted(", NCCL {}", figure.nccl);
    text += formatted("; {}", figure.source);
    if (!figure.date.empty()) text += formatted(", {}", figure.date);
    return text + ")";
}

std::vector<ReferenceComparison> compare_with_references(const Results& results) {
    std::vector<ReferenceComparison> comparisons;
    if (results.backend != "nccl") return comparisons;
    comparisons.reserve(reference_figures().size());
    for (const ReferenceFigure& figure : reference_figures()) {
        const Measurement* const measured = plateau(results, figure);
        if (measured == nullptr || !has_only(results, figure.gpu)) continue;
        comparisons.push_back({&figure, measured->bytes, bus_bandwidth(results, *measured)});
    }
    return comparisons;
}

}  // namespace distgpu::scaling
