// A model of a training step that its user describes: compute, then collectives, one after another
// and none of them hidden behind compute. Their times are measured ones; between two sizes they are
// on the line that joins them where both axes are logarithmic, and beyond there are none.
#pragma once

#include "analysis/efficiency.h"
#include "results/results.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace distgpu::scaling {

struct TrainingStep {
    struct Part {
        Collective collective = Collective::all_reduce;
        std::uint64_t bytes = 0;
        std::uint32_t count = 1;

        bool operator==(const Part&) const = default;
    };
    std::string text;    // as its user wrote it
    double compute = 0;  // seconds
    std::vector<Part> parts;

    bool operator==(const TrainingStep&) const = default;
};

// Seconds of a collective on a group: of the first type and operation measured there, out of place
// where that was measured. Nothing: not measured, or not in sizes on both sides of this one.
std::optional<double> collective_seconds(const Results& results, std::size_t group,
                                         Collective collective, std::uint64_t bytes);

struct StepScaling {
    std::vector<ScalingPoint> weak;    // compute takes as long on any number of nodes
    std::vector<ScalingPoint> strong;  // it is shared by the nodes
};

// Over the groups of nodes that measured all parts, and one node of one GPU, which needs none.
// Empty: fewer than two such groups.
StepScaling step_scaling(const Results& results, const TrainingStep& step);

}  // namespace distgpu::scaling
