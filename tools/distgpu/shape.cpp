// See shape.h.
#include "shape.h"

#include <distgpu/cpu_set.h>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

namespace distgpu {
namespace {

Error refuse(std::string_view option, std::string_view text, std::string problem) {
    return {fmt::format("{} {}", option, text), std::move(problem), "see distgpu plan --help"};
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        parts.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

// Up to the number of CPUs that a node may have, so that no sum of them overflows.
Result<std::uint32_t> number(std::string_view option, std::string_view text) {
    std::uint32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && stop == end && value <= CpuSet::cpu_limit) return value;
    return refuse(option, text, "not a number from 0 to 65536");
}

Result<StepLayout> arbitrary(HostList hosts, std::string_view nodes) {
    std::vector<std::uint32_t> node_of_task;
    for (const std::string& name : split(nodes, ',')) {
        const auto node = hosts.find(name);
        if (!node) return refuse("--distribution arbitrary:", name, "not in --nodelist");
        node_of_task.push_back(node->value);
    }
    return StepLayout::from_assignment(std::move(hosts), node_of_task);
}

Result<StepLayout> distribute(HostList hosts, const ShapeOptions& options) {
    const std::string_view text = options.distribution;
    constexpr std::string_view arbitrary_word = "arbitrary=";
    constexpr std::string_view plane_word = "plane=";
    if (text.substr(0, arbitrary_word.size()) == arbitrary_word) {
        return arbitrary(std::move(hosts), text.substr(arbitrary_word.size()));
    }
    Distribution distribution;
    if (text == "cyclic") {
        distribution.kind = Distribution::Kind::cyclic;
    } else if (text.substr(0, plane_word.size()) == plane_word) {
        const auto size = number("--distribution plane=", text.substr(plane_word.size()));
        if (!size) return size.error();
        distribution = {Distribution::Kind::plane, *size};
    } else if (!text.empty() && text != "block") {
        return refuse("--distribution", text, "not block, cyclic, plane=N or arbitrary=NODE,...");
    }
    return parse_tasks_per_node(options.tasks_per_node)
        .and_then([&](const std::vector<TasksRun>& runs) {
            return StepLayout::distribute(std::move(hosts), runs, distribution);
        });
}

// The numbers of the GPUs that the step has on each node.
Result<std::vector<std::uint32_t>> chosen_gpus(const ShapeOptions& options,
                                               std::uint32_t node_gpus) {
    std::vector<std::uint32_t> gpus(node_gpus);
    std::iota(gpus.begin(), gpus.end(), 0U);
    if (!options.gpus.empty()) {
        const auto list = CpuSet::parse(options.gpus);  // a list of numbers like any other
        if (!list) return refuse("--gpus", options.gpus, "not a list of GPUs as 0-3,6");
        gpus = list->cpus();
    } else if (!options.gpus_per_node.empty()) {
        const auto count = number("--gpus-per-node", options.gpus_per_node);
        if (!count) return count.error();
        gpus.resize(*count);
        std::iota(gpus.begin(), gpus.end(), 0U);
    }
    return gpus;
}

// As Slurm would tell the tasks where nothing hides other GPUs.
GpuNames names_of(const NodeTopology& topology, const std::vector<std::uint32_t>& gpus) {
    GpuNames names;
    for (const std::uint32_t gpu : gpus) names.names.push_back(fmt::to_string(gpu));
    if (gpus.empty()) return names;
    const GpuVendor vendor = topology.gpus[gpus.front()].vendor;
    names.variables = {vendor == GpuVendor::amd     ? "ROCR_VISIBLE_DEVICES"
                       : vendor == GpuVendor::intel ? "ZE_AFFINITY_MASK"
                                                    : "CUDA_VISIBLE_DEVICES"};
    return names;
}

Result<NodeFacts> node_facts(const ShapeOptions& options, const NodeTopology* topology) {
    const auto gpus = chosen_gpus(
        options, topology == nullptr ? 0 : static_cast<std::uint32_t>(topology->gpus.size()));
    if (!gpus) return gpus.error();
    const auto cpus =
        number("--cpus-per-task",
               options.cpus_per_task.empty() ? std::string_view("1") : options.cpus_per_task);
    if (!cpus) return cpus.error();
    NodeFacts node;
    node.gpus = static_cast<std::uint32_t>(gpus->size());
    node.cpus_per_task = *cpus;
    if (topology == nullptr) return node;
    if (!gpus->empty() && gpus->back() >= topology->gpus.size()) {
        return refuse("--gpus", fmt::to_string(gpus->back()),
                      fmt::format("the node has {} GPUs", topology->gpus.size()));
    }
    node.topology = topology;
    node.share.gpus = *gpus;
    node.share.cpus_per_task = *cpus;
    node.gpu_names = names_of(*topology, *gpus);
    node.confined = true;
    return node;
}

Result<std::vector<CpuSet>> masks_of(const ShapeOptions& options, const NodeTopology* topology) {
    std::vector<CpuSet> masks;
    if (options.cpu_masks.empty()) {
        if (topology == nullptr) return masks;
        CpuSet all;
        for (const Core& core : topology->cores) all |= core.cpus;
        masks.push_back(all);
        return masks;
    }
    for (const std::string& text : split(options.cpu_masks, ':')) {
        auto mask = CpuSet::parse(text);
        if (!mask || mask->empty()) {
            return refuse("--cpu-masks", options.cpu_masks, "not CPU lists as 0-3,8:4-7");
        }
        masks.push_back(*std::move(mask));
    }
    return masks;
}

}  // namespace

NodeFacts Shape::facts(NodeIndex index) const {
    NodeFacts result = node;
    result.share.masks = masks;
    if (masks.size() == 1) result.share.masks.assign(layout.tasks_on(index), masks.front());
    if (!masks.empty()) {
        CpuSet all;
        for (const CpuSet& mask : masks) all |= mask;
        result.cpus = all.count();
    }
    return result;
}

Result<Shape> make_shape(const ShapeOptions& options, const NodeTopology* topology) {
    auto layout = HostList::parse(options.nodelist).and_then([&](HostList hosts) {
        return distribute(std::move(hosts), options);
    });
    if (!layout) return layout.error();
    auto node = node_facts(options, topology);
    if (!node) return node.error();
    auto masks = masks_of(options, topology);
    if (!masks) return masks.error();
    const std::uint32_t most = layout->max_tasks_per_node();
    if (masks->size() > 1 && (masks->size() != most || layout->min_tasks_per_node() != most)) {
        return refuse("--cpu-masks", options.cpu_masks, "another number of masks than of tasks");
    }
    return Shape{*std::move(layout), *std::move(node), *std::move(masks)};
}

}  // namespace distgpu
