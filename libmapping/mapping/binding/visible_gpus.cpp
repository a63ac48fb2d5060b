#include "mapping/binding/visible_gpus.h"

#include "base/format.h"
#include "mapping/binding/binding_policy.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

using GpuList = std::vector<std::uint32_t>;

// A UUID means the same in every order, which a number does not.
bool by_uuid(const Request& request, const NodeFacts& node) {
    return (request.gpu_uuids || !numbers_follow_pci(node)) && all_have_uuids(node);
}

std::string name_of(const Request& request, const NodeFacts& node, std::uint32_t gpu) {
    if (by_uuid(request, node)) return node.topology->gpus[gpu].uuid;
    const auto& gpus = node.share.gpus;
    const auto at = std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin();
    return node.gpu_names.names[static_cast<std::size_t>(at)];
}

std::string visible(const Request& request, const NodeFacts& node, const GpuList& gpus) {
    std::vector<std::string> names;
    names.reserve(gpus.size());
    for (const std::uint32_t gpu : gpus) names.push_back(name_of(request, node, gpu));
    return join(names, ",");
}

bool slurm_sets(const NodeFacts& node, std::string_view variable) {
    const auto& names = node.gpu_names.variables;
    return std::find(names.begin(), names.end(), variable) != names.end();
}

// "0,1,2" of three.
std::string all_of(std::size_t count) {
    std::vector<std::string> numbers;
    numbers.reserve(count);
    for (std::size_t i = 0; i < count; ++i) numbers.push_back(std::to_string(i));
    return join(numbers, ",");
}

// Puts the list into the one variable that the maker's runtime reads first: HIP numbers anew what
// ROCR_VISIBLE_DEVICES leaves, so that a permutation in both would be applied twice, and the
// numbers that Slurm sets in CUDA_VISIBLE_DEVICES, which HIP reads too, may be past them.
void set_visible(const Request& request, const NodeFacts& node, const GpuPolicy& policy,
                 std::string list, DeviceValues& values) {
    const GpuVendor vendor = node.topology->gpus[node.share.gpus.front()].vendor;
    if (vendor == GpuVendor::intel) {
        if (policy.own_alone && slurm_sets(node, "ZE_AFFINITY_MASK")) {
            values.ze_affinity_mask = std::move(list);
        }
    } else if (vendor == GpuVendor::amd && slurm_sets(node, "ROCR_VISIBLE_DEVICES")) {
        if (slurm_sets(node, "CUDA_VISIBLE_DEVICES")) {
            const auto commas = std::count(list.begin(), list.end(), ',');
            values.cuda_visible_devices = all_of(static_cast<std::size_t>(commas) + 1);
        }
        values.rocr_visible_devices = std::move(list);
    } else if (slurm_sets(node, "CUDA_VISIBLE_DEVICES")) {
        values.cuda_visible_devices = std::move(list);
        // By default CUDA counts the fastest GPU first.
        if (!by_uuid(request, node)) values.cuda_device_order = "PCI_BUS_ID";
    }
}

}  // namespace

void set_visible_gpus(const Request& request, const NodeFacts& node, const NodeBinding& binding,
                      std::vector<DeviceValues>& values) {
    const GpuPolicy& policy = *binding_policy(request, node).gpus;
    if (policy.seen_by == nullptr || node.share.gpus.empty()) return;
    for (std::size_t task = 0; task < values.size(); ++task) {
        std::string list = visible(request, node, policy.seen_by(binding, task));
        set_visible(request, node, policy, std::move(list), values[task]);
    }
}

std::vector<std::string> gpu_name_warnings(const Request& request, const NodeFacts& node) {
    std::vector<std::string> lines;
    if (node.topology == nullptr) return lines;
    if (std::string unclear = unclear_gpus(node); !unclear.empty()) {
        lines.push_back(unclear + "; GPUs and CPUs stay as Slurm set them");
        return lines;
    }
    if (node.share.gpus.empty()) return lines;
    if (request.gpu_uuids && !all_have_uuids(node)) {
        lines.emplace_back(
            "gpu-ids=uuid: the driver does not report the UUID of every GPU; using numbers "
            "instead");
    }
    if (request.gpu_uuids && !node.share.bound.empty()) {
        lines.emplace_back(
            "gpu-ids=uuid: Slurm bound the GPUs to the tasks and named them; use "
            "--gpus-per-node instead of --gpus-per-task and --gpu-bind");
    }
    return lines;
}

}  // namespace distgpu
