#include "plan/shape.h"

#include "base/excerpt.h"
#include "base/format.h"
#include "base/values.h"
#include "mapping/topology/cpu_set.h"
#include "slurm/slurm_options.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace distgpu {
namespace {

Error refuse(std::string_view option, std::string_view text, std::string problem) {
    return {formatted("{} {}", option, text), std::move(problem), "see distgpu plan --help"};
}

// Up to the number of CPUs that a node may have, so that no sum of them overflows. `written`: the
// option with all that stands there.
Result<std::uint32_t> number(std::string_view written, std::string_view text) {
    if (const auto value = number_below(text, CpuSet::cpu_limit + 1)) return *value;
    return Error{std::string(written), "not a number from 0 to 65536", "see distgpu plan --help"};
}

// "4 GPUs, numbered from 0"
std::string gpus_of_node(const NodeTopology& topology) {
    const std::size_t gpus = topology.gpus.size();
    return formatted("{}{}", counted(gpus, "GPU"), gpus > 1 ? ", numbered from 0" : "");
}

std::vector<std::uint32_t> first_gpus(std::uint32_t count) {
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
    if (auto error = shape.choose_gpus(options)) return *std::move(error);
    if (!options.cpus_per_task.empty()) {
        const auto cpus = number("--cpus-per-task " + options.cpus_per_task, options.cpus_per_task);
        if (!cpus) return cpus.error();
        shape.cpus_per_task_ = *cpus;
    }
    auto masks = read_masks(options.cpu_masks);
    if (!masks) return masks.error();
    shape.masks_ = *std::move(masks);
    if (auto error = shape.fits(options)) return *std::move(error);
    return shape;
}

// The GPUs that the step has on each node.
std::optional<Error> Shape::choose_gpus(const ShapeOptions& options) {
    if (!options.gpu_list.empty()) {
        const auto list = CpuSet::parse(options.gpu_list);  // a list of numbers like any other
        if (!list)
            return refuse("--gpu-list", options.gpu_list, "not a list of GPUs such as 0-3,6");
        gpus_ = list->cpus();
        gpus_option_ = formatted("--gpu-list {}", options.gpu_list);
    } else if (!options.gpus_per_node.empty()) {
        // Slurm's own ways to write it: "gpu:4", "gpu:h100:4"; "gpu" is one.
        const std::string_view written = options.gpus_per_node;
        gpus_option_ = name_of_gpus_per_node(options);
        const auto gpus =
            number(gpus_option_, written == "gpu" ? std::string_view("1")
                                                  : written.substr(written.rfind(':') + 1));
        if (!gpus) return gpus.error();
        gpus_ = first_gpus(*gpus);
    }
    return options.gpus.empty() ? std::nullopt : deal_gpus(options);
}

// Whether each node is known to have so many GPUs and no more.
bool Shape::have_all_nodes(std::uint32_t gpus) const {
    for (std::uint32_t node = 0; node < layout_.node_count(); ++node) {
        const NodeTopology* const topology = topologies_.of(NodeIndex{node});
        if (topology == nullptr || topology->gpus.size() != gpus) return false;
    }
    return true;
}

// Those that --gpus asks for on all nodes together. How Slurm deals them to several nodes depends
// on which of them are free there.
std::optional<Error> Shape::deal_gpus(const ShapeOptions& options) {
    const std::string option = formatted("--gpus={}", excerpt(options.gpus));
    const std::uint32_t nodes = layout_.node_count();
    const auto count = gpu_count(options.gpus);
    const bool has_types = options.gpus.find(':') != std::string::npos;
    if (!count && !has_types) {
        return Error{option, "not a number of GPUs, such as 4 or h100:4",
                     CpuSet::parse(options.gpus)
                         ? formatted("for these GPUs of each node, use distgpu plan --gpu-list={}",
                                     excerpt(options.gpus))
                         : "see distgpu plan --help"};
    }
    if (gpus_ && count && *count == gpus_->size() * nodes) return std::nullopt;
    if (gpus_) {
        left_out_ = Error{option, formatted("not in this plan, which follows {}", gpus_option_),
                          "leave one of the two out"};
    } else if (!count || *count % nodes != 0) {
        left_out_ = Error{option, "not in this plan, which needs each node's GPUs",
                          "use --gpus-per-node=N or --gres=gpu:N"};
    } else if (*count / nodes > CpuSet::cpu_limit) {
        return Error{option, "more GPUs than any node has", "see distgpu plan --help"};
    } else {
        gpus_ = first_gpus(*count / nodes);
        gpus_option_ = option;
        if (nodes > 1 && !have_all_nodes(*count / nodes)) {
            left_out_ =
                Error{option, "divided evenly here, but Slurm may give the nodes different numbers",
                      formatted("use --gpus-per-node={}", *count / nodes)};
        }
    }
    return std::nullopt;
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
        return Error{gpus_option_, formatted("the node has {}", gpus_of_node(topology)),
                     "see distgpu plan --help"};
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
