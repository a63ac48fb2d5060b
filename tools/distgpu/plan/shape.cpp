// See shape.h.
#include "plan/shape.h"

#include "base/format.h"
#include "base/values.h"
#include "mapping/topology/cpu_set.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace distgpu {
namespace {

Error refuse(std::string_view option, std::string_view text, std::string problem) {
    return {formatted("{} {}", option, text), std::move(problem), "see distgpu plan --help"};
}

// Up to the number of CPUs that a node may have, so that no sum of them overflows.
Result<std::uint32_t> number(std::string_view option, std::string_view text) {
    if (const auto value = number_below(text, CpuSet::cpu_limit + 1)) return *value;
    return refuse(option, text, "not a number from 0 to 65536");
}

// The numbers of the GPUs that the step has on each node; nothing: all.
Result<std::optional<std::vector<std::uint32_t>>> chosen_gpus(const ShapeOptions& options) {
    using Chosen = std::optional<std::vector<std::uint32_t>>;
    if (!options.gpus.empty()) {
        const auto list = CpuSet::parse(options.gpus);  // a list of numbers like any other
        if (!list) return refuse("--gpus", options.gpus, "not a list of GPUs such as 0-3,6");
        return Chosen(list->cpus());
    }
    if (options.gpus_per_node.empty()) return Chosen{};
    // Slurm's own ways to write it: "gpu:4", "gpu:h100:4".
    const std::string_view written = options.gpus_per_node;
    const std::string_view count = written.substr(written.rfind(':') + 1);
    return number("--gpus-per-node", count).transform([](std::uint32_t gpus) {
        std::vector<std::uint32_t> first(gpus);
        std::iota(first.begin(), first.end(), 0U);
        return Chosen(std::move(first));
    });
}

Result<std::vector<CpuSet>> read_masks(const std::string& text) {
    std::vector<CpuSet> masks;
    if (text.empty()) return masks;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(':', at), text.size());
        auto mask = CpuSet::parse(std::string_view(text).substr(at, end - at));
        if (!mask || mask->empty()) {
            return refuse("--cpu-masks", text, "not CPU lists such as 0-3,8:4-7");
        }
        masks.push_back(*std::move(mask));
        at = end + 1;
    }
    return masks;
}

// As Slurm would tell the tasks where nothing hides other GPUs.
GpuNames names_of(const NodeTopology& topology, const std::vector<std::uint32_t>& gpus) {
    GpuNames names;
    for (const std::uint32_t gpu : gpus) names.names.push_back(std::to_string(gpu));
    if (gpus.empty()) return names;
    const GpuVendor vendor = topology.gpus[gpus.front()].vendor;
    names.variables = {vendor == GpuVendor::amd     ? "ROCR_VISIBLE_DEVICES"
                       : vendor == GpuVendor::intel ? "ZE_AFFINITY_MASK"
                                                    : "CUDA_VISIBLE_DEVICES"};
    return names;
}

CpuSet all_cpus(const NodeTopology& topology) {
    CpuSet all;
    for (const Core& core : topology.cores) all |= core.cpus;
    return all;
}

}  // namespace

const NodeTopology* StepTopologies::of(NodeIndex node) const {
    const auto own = of_node.find(node.value);
    if (own != of_node.end()) return &own->second;
    return usual ? &*usual : nullptr;
}

Result<Shape> Shape::make(const ShapeOptions& options, StepLayout layout,
                          StepTopologies topologies) {
    Shape shape(std::move(layout), std::move(topologies));
    auto gpus = chosen_gpus(options);
    if (!gpus) return gpus.error();
    shape.gpus_ = *std::move(gpus);
    if (!options.cpus_per_task.empty()) {
        const auto cpus = number("--cpus-per-task", options.cpus_per_task);
        if (!cpus) return cpus.error();
        shape.cpus_per_task_ = *cpus;
    }
    auto masks = read_masks(options.cpu_masks);
    if (!masks) return masks.error();
    shape.masks_ = *std::move(masks);
    if (auto error = shape.fits(options)) return *std::move(error);
    return shape;
}

// Why what was chosen cannot be on these nodes.
std::optional<Error> Shape::fits(const ShapeOptions& options) const {
    const std::uint32_t most = layout_.max_tasks_per_node();
    if (masks_.size() > 1 && (masks_.size() != most || layout_.min_tasks_per_node() != most)) {
        return refuse("--cpu-masks", options.cpu_masks,
                      "the number of lists differs from the number of tasks");
    }
    if (!gpus_ || gpus_->empty()) return std::nullopt;
    const auto lacks = [&](const NodeTopology& topology) {
        return gpus_->back() >= topology.gpus.size();
    };
    const auto refuse_gpu = [&](const NodeTopology& topology) {
        return refuse("--gpus", std::to_string(gpus_->back()),
                      formatted("the node has {} GPUs", topology.gpus.size()));
    };
    if (topologies_.usual && lacks(*topologies_.usual)) return refuse_gpu(*topologies_.usual);
    for (const auto& [node, topology] : topologies_.of_node) {
        if (lacks(topology)) return refuse_gpu(topology);
    }
    return std::nullopt;
}

std::vector<std::uint32_t> Shape::gpus_of(const NodeTopology* topology) const {
    if (gpus_) return *gpus_;
    std::vector<std::uint32_t> all(topology == nullptr ? 0 : topology->gpus.size());
    std::iota(all.begin(), all.end(), 0U);
    return all;
}

std::vector<CpuSet> Shape::masks_of(const NodeTopology& topology, std::size_t tasks) const {
    if (masks_.size() > 1) return masks_;
    return {tasks, masks_.empty() ? all_cpus(topology) : masks_.front()};
}

NodeFacts Shape::facts(NodeIndex index) const {
    const NodeTopology* const topology = topologies_.of(index);
    const std::uint32_t tasks = layout_.tasks_on(index);
    NodeFacts node;
    node.node = index;
    std::vector<std::uint32_t> gpus = gpus_of(topology);
    node.gpus = static_cast<std::uint32_t>(gpus.size());
    node.cpus_per_task = cpus_per_task_;
    if (topology != nullptr) {
        node.topology = topology;
        node.gpu_names = names_of(*topology, gpus);
        node.share = {masks_of(*topology, tasks), cpus_per_task_, std::move(gpus), {}};
        node.confined = true;
    } else if (!masks_.empty()) {
        node.share.masks = masks_.size() > 1 ? masks_ : std::vector<CpuSet>(tasks, masks_.front());
    }
    CpuSet cpus;
    for (const CpuSet& mask : node.share.masks) cpus |= mask;
    if (!cpus.empty()) node.cpus = cpus.count();
    return node;
}

}  // namespace distgpu
