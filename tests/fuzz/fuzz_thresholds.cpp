// nccl-scaling's file of thresholds, and the sizes and demands in it.
#include "analysis/bus_bandwidth.h"
#include "analysis/compare.h"
#include "require.h"
#include "run/sizes.h"
#include "run/threshold_file.h"
#include "target.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace distgpu {
namespace {

using namespace scaling;

// As a person writes it. 17 digits say which number it is.
std::string line_of(const Threshold& threshold) {
    std::array<char, 64> bandwidth{};
    std::snprintf(bandwidth.data(), bandwidth.size(), "%.17g", threshold.bandwidth / 1e9);
    return std::string(row_of(threshold.collective).name) + ", " + std::to_string(threshold.bytes) +
           ", " + std::to_string(threshold.ranks) + ", " + bandwidth.data() + '\n';
}

}  // namespace

void try_text(std::string_view text) {
    const auto thresholds = parse_thresholds(text, "FILE");
    if (!thresholds) return require_line(thresholds.error().message());
    require(!thresholds->empty() && thresholds->size() <= text.size(), "a line each");
    std::string written;
    for (const Threshold& threshold : *thresholds) {
        require(threshold.bytes > 0 && threshold.bytes <= largest_size, "a possible size");
        require(threshold.ranks >= 2, "a collective has two ranks");
        require(std::isfinite(threshold.bandwidth) && threshold.bandwidth > 0,
                "a bandwidth that a number holds");
        written += line_of(threshold);
    }
    const auto again = parse_thresholds(written, "FILE");
    require(again && again->size() == thresholds->size(), "they are read back");
    for (std::size_t i = 0; i < again->size(); ++i) {
        require((*again)[i].collective == (*thresholds)[i].collective &&
                    (*again)[i].bytes == (*thresholds)[i].bytes &&
                    (*again)[i].ranks == (*thresholds)[i].ranks,
                "as they were written");
    }
    const Comparison comparison = compare({}, *thresholds);
    require(comparison.waived.size() == thresholds->size(), "nothing measured: all are waived");
    require(comparison.violations.empty() && comparison.passed == 0, "and none is judged");
}

}  // namespace distgpu
