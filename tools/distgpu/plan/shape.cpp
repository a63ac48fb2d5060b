// What each node of a step has, as the options of `distgpu plan` and of srun give it.
#include "base/format.h"
#include "base/values.h"
#include "mapping/topology/cpu_set.h"
#include "node/collect.h"
#include "node/gpus.h"
#include "plan/plan_formats.h"
#include "slurm/slurm_options.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace distgpu {
namespace {

Error refuse(std::string object, std::string problem) {
    return {std::move(object), std::move(problem), "see distgpu plan --help"};
}

// Up to the number of CPUs that a node may have, so that no sum of them overflows. `written`: the
// option with all that stands there.
Result<std::uint32_t> number(std::string_view written, std::string_view text) {
    if (const auto value = number_below(text, CpuSet::cpu_limit + 1)) return *value;
    return refuse(std::string(written), "not a number from 0 to 65536");
}

std::vector<std::uint32_t> first_gpus(std::size_t count) {
    std::vector<std::uint32_t> first(count);
    std::iota(first.begin(), first.end(), 0U);
    return first;
}

// Where the number of a node's GPUs stands, as it was written.
std::string name_of_gpus_per_node(const ShapeOptions& options) {
    const std::string& text = options.gpus_per_node;
    if (!options.gpus_variable.empty()) return formatted("{}={}", options.gpus_variable, text);
    return formatted("{} {}", text.starts_with("gpu") ? "--gres" : "--gpus-per-node", text);
}

Result<std::vector<CpuSet>> read_masks(const std::string& text) {
    std::vector<CpuSet> masks;
    if (text.empty()) return masks;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(':', at), text.size());
        auto mask = CpuSet::parse(std::string_view(text).substr(at, end - at));
        if (!mask || mask->empty()) {
            return refuse("--cpu-masks " + text, "not CPU lists such as 0-3,8:4-7");
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
    names.variables = {std::string(gpu_lists.word_of(topology.gpus[gpus.front()].vendor))};
    return names;
}

CpuSet all_cpus(const NodeTopology& topology) {
    CpuSet all;
    for (const Core& core : topology.cores) all |= core.cpus;
    return all;
}

// Whether each node is known to have so many GPUs and no more.
bool have_all_nodes(const Shape& shape, std::uint32_t gpus) {
    for (std::uint32_t node = 0; node < shape.layout.node_count(); ++node) {
        const NodeTopology* const topology = shape.topologies.of(NodeIndex{node});
        if (topology == nullptr || topology->gpus.size() != gpus) return false;
    }
    return true;
}

// Those that --gpus asks for on all nodes together. How Slurm deals them to several nodes depends
// on which of them are free there.
std::optional<Error> deal_gpus(Shape& shape, const ShapeOptions& options, std::string& chosen_by) {
    const std::string option = formatted("--gpus={}", excerpt(options.gpus));
    const std::uint32_t nodes = shape.layout.node_count();
    const auto count = gpu_count(options.gpus);
    const bool has_types = options.gpus.find(':') != std::string::npos;
    if (!count && !has_types) {
        return Error{option, "not a number of GPUs, such as 4 or h100:4",
                     CpuSet::parse(options.gpus)
                         ? formatted("for these GPUs of each node, use distgpu plan --gpu-list={}",
                                     excerpt(options.gpus))
                         : "see distgpu plan --help"};
    }
    if (shape.gpus && count && *count == shape.gpus->size() * nodes) return std::nullopt;
    if (shape.gpus) {
        shape.left_out = Error{option, formatted("not in this plan, which follows {}", chosen_by),
                               "leave one of the two out"};
    } else if (!count || *count % nodes != 0) {
        shape.left_out = Error{option, "not in this plan, which needs each node's GPUs",
                               "use --gpus-per-node=N or --gres=gpu:N"};
    } else if (*count / nodes > CpuSet::cpu_limit) {
        return refuse(option, "more GPUs than any node has");
    } else {
        shape.gpus = first_gpus(*count / nodes);
        chosen_by = option;
        if (nodes > 1 && !have_all_nodes(shape, *count / nodes)) {
            shape.left_out =
                Error{option, "divided evenly here, but Slurm may give the nodes different numbers",
                      formatted("use --gpus-per-node={}", *count / nodes)};
        }
    }
    return std::nullopt;
}

// The GPUs that the step has on each node, and the option by which they were chosen: "--gpus 4".
std::optional<Error> choose_gpus(Shape& shape, const ShapeOptions& options,
                                 std::string& chosen_by) {
    if (!options.gpu_list.empty()) {
        const auto list = CpuSet::parse(options.gpu_list);  // a list of numbers like any other
        chosen_by = "--gpu-list " + options.gpu_list;
        if (!list) return refuse(chosen_by, "not a list of GPUs such as 0-3,6");
        shape.gpus = list->cpus();
    } else if (!options.gpus_per_node.empty()) {
        // Slurm's own ways to write it: "gpu:4", "gpu:h100:4"; "gpu" is one.
        const std::string_view written = options.gpus_per_node;
        chosen_by = name_of_gpus_per_node(options);
        const auto gpus =
            number(chosen_by, written == "gpu" ? std::string_view("1")
                                               : written.substr(written.rfind(':') + 1));
        if (!gpus) return gpus.error();
        shape.gpus = first_gpus(*gpus);
    }
    return options.gpus.empty() ? std::nullopt : deal_gpus(shape, options, chosen_by);
}

// Why what was chosen cannot be on these nodes.
std::optional<Error> unfit(const Shape& shape, const ShapeOptions& options,
                           const std::string& chosen_by) {
    const std::uint32_t most = shape.layout.max_tasks_per_node();
    if (shape.masks.size() > 1 &&
        (shape.masks.size() != most || shape.layout.min_tasks_per_node() != most)) {
        return refuse("--cpu-masks " + options.cpu_masks,
                      "the number of lists differs from the number of tasks");
    }
    if (!shape.gpus || shape.gpus->empty()) return std::nullopt;
    const auto fault = [&](const NodeTopology& topology) -> std::optional<Error> {
        const std::size_t gpus = topology.gpus.size();
        if (shape.gpus->back() < gpus) return std::nullopt;
        return refuse(chosen_by, formatted("the node has {}{}", counted(gpus, "GPU"),
                                           gpus > 1 ? ", numbered from 0" : ""));
    };
    std::optional<Error> error;
    if (shape.topologies.usual) error = fault(*shape.topologies.usual);
    for (const auto& [node, topology] : shape.topologies.of_node) {
        if (!error) error = fault(topology);
    }
    return error;
}

}  // namespace

const NodeTopology* StepTopologies::of(NodeIndex node) const {
    const auto own = of_node.find(node.value);
    if (own != of_node.end()) return &own->second;
    return usual ? &*usual : nullptr;
}

Result<Shape> Shape::make(const ShapeOptions& options, StepLayout layout,
                          StepTopologies topologies) {
    Shape shape{std::move(layout), std::move(topologies)};
    std::string chosen_by;
    if (auto error = choose_gpus(shape, options, chosen_by)) return *std::move(error);
    if (!options.cpus_per_task.empty()) {
        const auto cpus = number("--cpus-per-task " + options.cpus_per_task, options.cpus_per_task);
        if (!cpus) return cpus.error();
        shape.cpus_per_task = *cpus;
    }
    auto masks = read_masks(options.cpu_masks);
    if (!masks) return masks.error();
    shape.masks = *std::move(masks);
    if (auto error = unfit(shape, options, chosen_by)) return *std::move(error);
    return shape;
}

NodeFacts Shape::facts(NodeIndex index) const {
    const NodeTopology* const topology = topologies.of(index);
    const std::uint32_t tasks = layout.tasks_on(index);
    NodeFacts node;
    node.node = index;
    std::vector<std::uint32_t> own_gpus =
        gpus ? *gpus : first_gpus(topology == nullptr ? 0 : topology->gpus.size());
    node.gpus = static_cast<std::uint32_t>(own_gpus.size());
    node.cpus_per_task = cpus_per_task;
    std::vector<CpuSet> own_masks = masks;
    if (masks.empty() && topology != nullptr) own_masks = {all_cpus(*topology)};
    if (own_masks.size() == 1) own_masks.resize(tasks, CpuSet(own_masks.front()));
    if (topology != nullptr) {
        node.topology = topology;
        node.gpu_names = names_of(*topology, own_gpus);
        node.share = {std::move(own_masks), cpus_per_task, std::move(own_gpus), {}};
        node.confined = true;
    } else {
        node.share.masks = std::move(own_masks);
    }
    const CpuSet cpus = all_cpus(node.share);
    if (!cpus.empty()) node.cpus = cpus.count();
    return node;
}

}  // namespace distgpu
