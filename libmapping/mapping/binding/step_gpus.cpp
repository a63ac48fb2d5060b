#include "mapping/binding/step_gpus.h"

#include "base/format.h"
#include "base/values.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace distgpu {
namespace {

using Indices = std::vector<std::uint32_t>;

// "0,2" as numbers below the limit, ascending; nothing where it is another text.
std::optional<Indices> numbers(std::string_view list, std::size_t limit) {
    Indices result;
    for (const std::string_view item : comma_items(list)) {
        const auto number = number_below(item, limit);
        if (!number) return std::nullopt;
        if (!result.empty() && *number <= result.back()) return std::nullopt;
        result.push_back(*number);
    }
    return result;
}

Error unclear(std::string problem) {
    return {"GPUs", std::move(problem), ""};
}

// A GPU is named by its place among those that the task can open.
StepGpus named(const Indices& indices, const Indices& usable) {
    StepGpus gpus{indices, {}};
    for (const std::uint32_t index : indices) {
        const auto at = std::lower_bound(usable.begin(), usable.end(), index) - usable.begin();
        gpus.names.push_back(std::to_string(at));
    }
    return gpus;
}

bool is_divided(const NodeTopology& topology, const Indices& gpus) {
    return std::any_of(gpus.begin(), gpus.end(),
                       [&](std::uint32_t gpu) { return !topology.gpus[gpu].mig.empty(); });
}

// All that can be opened, where that is not more than Slurm gave.
Result<Indices> opened(const std::optional<Indices>& usable, std::size_t given) {
    if (!usable) return unclear("the driver does not report which device file is whose");
    if (usable->size() <= given) return *usable;
    return unclear(
        formatted("the task can open {}, but Slurm gave it {}; list every GPU of the "
                  "node in gres.conf",
                  usable->size(), given));
}

}  // namespace

Numbering likely_numbering(const NodeTopology& topology, const std::optional<Indices>& usable) {
    return usable && usable->size() == topology.gpus.size() ? Numbering::node : Numbering::opened;
}

Result<StepGpus> step_gpus(const NodeTopology& topology, const std::optional<Indices>& usable,
                           std::string_view visible, Numbering numbering) {
    const auto given = numbers(visible, topology.gpus.size());
    if (!given || given->empty()) return StepGpus{};
    Indices all(topology.gpus.size());
    std::iota(all.begin(), all.end(), 0U);
    const Indices& counted = usable ? *usable : all;
    Indices indices;
    if (numbering == Numbering::opened) {
        auto found = opened(usable, given->size());
        if (!found) return found.error();
        indices = *std::move(found);
    } else {
        std::set_intersection(given->begin(), given->end(), counted.begin(), counted.end(),
                              std::back_inserter(indices));
    }
    if (indices.empty()) return unclear("the task can open none of those that Slurm gave it");
    if (is_divided(topology, counted)) {
        return unclear("some of them are divided (MIG), and numbers do not count those");
    }
    return named(indices, counted);
}

}  // namespace distgpu
