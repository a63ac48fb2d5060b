// Computes the facts of each node of a step from the options of `distgpu plan` or srun.
#include "base/format.h"
#include "base/values.h"
#include "mapping/topology/cpu_set.h"
#include "node/gpus.h"
#include "node/plan_inputs.h"
#include "plan/formats.h"
#include "slurm/slurm_options.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace distgpu {
namespace {

Error option_error(std::string object, std::string problem) {
    return {std::move(object), std::move(problem), "see distgpu plan --help"};
}

// A number up to the CPUs that a node may have, so that no sum of them overflows. `option`: the
// option with its whole value.
Result<std::uint32_t> parse_number(std::string_view option, std::string_view text) {
    if (const auto value = number_below(text, CpuSet::cpu_limit + 1)) return *value;
    return option_error(std::string(option), "not a number from 0 to 65536");
}

std::vector<std::uint32_t> first_gpus(std::size_t count) {
    std::vector<std::uint32_t> first(count);
    std::iota(first.begin(), first.end(), 0U);
    return first;
}

// The option or variable with the number of a node's GPUs, as the user wrote it.
std::string gpus_per_node_option(const ShapeOptions& options) {
    const std::string& text = options.gpus_per_node;
    if (!options.gpus_variable.empty()) return formatted("{}={}", options.gpus_variable, text);
    return formatted("{} {}", text.starts_with("gpu") ? "--gres" : "--gpus-per-node", text);
}

Result<std::vector<CpuSet>> read_masks(const std::string& text) {
    std::vector<CpuSet> masks;
    if (text.empty()) return masks;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(':', begin), text.size());
        auto mask = CpuSet::parse(std::string_view(text).substr(begin, end - begin));
        if (!mask || mask->empty()) {
            return option_error("--cpu-masks " + text, "not CPU lists such as 0-3,8:4-7");
        }
        masks.push_back(*std::move(mask));
        begin = end + 1;
    }
    return masks;
}

// The names by which Slurm would give these GPUs to the tasks if no other GPUs are hidden.
GpuNames names_of(const NodeTopology& topology, const std::vector<std::uint32_t>& gpus) {
    GpuNames names;
    for (const std::uint32_t gpu : gpus) names.names.push_back(std::to_string(gpu));
    if (gpus.empty()) return names;
    names.variables = {std::string(gpu_list_variables.name_of(topology.gpus[gpus.front()].vendor))};
    return names;
}

CpuSet all_cpus(const NodeTopology& topology) {
    CpuSet all;
    for (const Core& core : topology.cores) all |= core.cpus;
    return all;
}

// Whether each node is known to have exactly this number of GPUs.
bool all_nodes_have(const Shape& shape, std::uint32_t gpus) {
    for (std::uint32_t node = 0; node < shape.layout.node_count(); ++node) {
        const NodeTopology* const topology = shape.topologies.of(NodeIndex{node});
        if (topology == nullptr || topology->gpus.size() != gpus) return false;
    }
    return true;
}

// Divides the GPUs of --gpus, which counts those of all nodes, evenly among the nodes. How Slurm
// divides them depends on which GPUs are free.
std::optional<Error> divide_gpus(Shape& shape, const ShapeOptions& options,
                                 std::string& gpus_option) {
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
        shape.gpus_warning =
            Error{option, formatted("not in this plan, which follows {}", gpus_option),
                  "leave one of the two out"};
    } else if (!count || *count % nodes != 0) {
        shape.gpus_warning = Error{option, "not in this plan, which needs each node's GPUs",
                                   "use --gpus-per-node=N or --gres=gpu:N"};
    } else if (*count / nodes > CpuSet::cpu_limit) {
        return option_error(option, "more GPUs than any node has");
    } else {
        shape.gpus = first_gpus(*count / nodes);
        gpus_option = option;
        if (nodes > 1 && !all_nodes_have(shape, *count / nodes)) {
            shape.gpus_warning =
                Error{option, "divided evenly here, but Slurm may give the nodes different numbers",
                      formatted("use --gpus-per-node={}", *count / nodes)};
        }
    }
    return std::nullopt;
}

// Chooses the GPUs that the step has on each node, and the option that determines them: "--gpus 4".
std::optional<Error> choose_gpus(Shape& shape, const ShapeOptions& options,
                                 std::string& gpus_option) {
    if (!options.gpu_list.empty()) {
        const auto list = CpuSet::parse(options.gpu_list);  // has the same syntax
        gpus_option = "--gpu-list " + options.gpu_list;
        if (!list) return option_error(gpus_option, "not a list of GPUs such as 0-3,6");
        shape.gpus = list->cpus();
    } else if (!options.gpus_per_node.empty()) {
        // Slurm's syntax: "gpu:4", "gpu:h100:4"; "gpu" means one.
        const std::string_view value = options.gpus_per_node;
        gpus_option = gpus_per_node_option(options);
        const auto gpus =
            parse_number(gpus_option, value == "gpu" ? std::string_view("1")
                                                     : value.substr(value.rfind(':') + 1));
        if (!gpus) return gpus.error();
        shape.gpus = first_gpus(*gpus);
    }
    return options.gpus.empty() ? std::nullopt : divide_gpus(shape, options, gpus_option);
}

// Checks that the nodes have the chosen GPUs, and as many tasks as there are masks.
std::optional<Error> check_fit(const Shape& shape, const ShapeOptions& options,
                               const std::string& gpus_option) {
    const std::uint32_t max_tasks = shape.layout.max_tasks_per_node();
    if (shape.masks.size() > 1 &&
        (shape.masks.size() != max_tasks || shape.layout.min_tasks_per_node() != max_tasks)) {
        return option_error("--cpu-masks " + options.cpu_masks,
                            "the number of lists differs from the number of tasks");
    }
    if (!shape.gpus || shape.gpus->empty()) return std::nullopt;
    const auto check_gpus = [&](const NodeTopology& topology) -> std::optional<Error> {
        const std::size_t gpus = topology.gpus.size();
        if (shape.gpus->back() < gpus) return std::nullopt;
        return option_error(gpus_option, formatted("the node has {}{}", counted(gpus, "GPU"),
                                                   gpus > 1 ? ", numbered from 0" : ""));
    };
    std::optional<Error> error;
    if (shape.topologies.fallback) error = check_gpus(*shape.topologies.fallback);
    for (const auto& [node, topology] : shape.topologies.by_node) {
        if (!error) error = check_gpus(topology);
    }
    return error;
}

}  // namespace

const NodeTopology* StepTopologies::of(NodeIndex node) const {
    const auto own = by_node.find(node.value);
    if (own != by_node.end()) return &own->second;
    return fallback ? &*fallback : nullptr;
}

Result<Shape> Shape::make(const ShapeOptions& options, StepLayout layout,
                          StepTopologies topologies) {
    Shape shape{std::move(layout), std::move(topologies)};
    std::string gpus_option;
    if (auto error = choose_gpus(shape, options, gpus_option)) return *std::move(error);
    if (!options.cpus_per_task.empty()) {
        const auto cpus =
            parse_number("--cpus-per-task " + options.cpus_per_task, options.cpus_per_task);
        if (!cpus) return cpus.error();
        shape.cpus_per_task = *cpus;
    }
    auto masks = read_masks(options.cpu_masks);
    if (!masks) return masks.error();
    shape.masks = *std::move(masks);
    if (auto error = check_fit(shape, options, gpus_option)) return *std::move(error);
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
        node.is_confined = true;
    } else {
        node.share.masks = std::move(own_masks);
    }
    const CpuSet cpus = all_cpus(node.share);
    if (!cpus.empty()) node.cpus = cpus.count();
    return node;
}

}  // namespace distgpu
