#include "mapping/binding/binding_policy.h"

#include "mapping/binding/gpu_policies.h"

#include <algorithm>

namespace distgpu {
namespace {

// AMD's kernel driver reports a UUID of zeros where it has none.
bool has_uuid(const Gpu& gpu) {
    return gpu.uuid.find_first_of("123456789abcdefABCDEF", gpu.uuid.find('-') + 1) !=
           std::string::npos;
}

}  // namespace

bool all_have_uuids(const NodeFacts& node) {
    return std::all_of(node.share.gpus.begin(), node.share.gpus.end(),
                       [&](std::uint32_t gpu) { return has_uuid(node.topology->gpus[gpu]); });
}

bool numbers_follow_pci(const NodeFacts& node) {
    const auto& gpus = node.share.gpus;
    return node.gpu_names.in_pci_order || gpus.empty() ||
           node.topology->gpus[gpus.front()].vendor != GpuVendor::nvidia;
}

std::string unclear_gpus(const NodeFacts& node) {
    if (!node.gpu_names.unclear.empty()) return node.gpu_names.unclear;
    if (numbers_follow_pci(node) || all_have_uuids(node)) return {};
    return "CUDA_DEVICE_ORDER: your value gives the GPUs' numbers another meaning than PCI_BUS_ID "
           "does, and the driver does not report the UUID of every GPU";
}

BindingPolicy binding_policy(const Request& request, const NodeFacts& node) {
    const bool near = !request.keep_all;
    BindingPolicy policy;
    policy.gpus = near ? &gpu_policy::near : &gpu_policy::keep;
    if (request.gpus != nullptr) policy.gpus = request.gpus;
    // What Slurm gave each task by its own binding is more than a default.
    const bool unclear = node.topology != nullptr && !unclear_gpus(node).empty();
    if (!node.share.bound.empty() || unclear) policy.gpus = &gpu_policy::keep;
    const auto is_near = [near](std::optional<BindingChoice> choice) {
        return choice.value_or(near ? BindingChoice::near : BindingChoice::keep) ==
               BindingChoice::near;
    };
    policy.near_cpus = node.confined && !unclear && is_near(request.cpus) &&
                       (!node.user_bound || request.cpus == BindingChoice::near);
    policy.near_hcas = is_near(request.hcas);
    return policy;
}

bool needs_topology(const Request& request) {
    const BindingPolicy policy = binding_policy(request, NodeFacts{.confined = true});
    return policy.gpus->seen_by != nullptr || policy.near_cpus || policy.near_hcas;
}

}  // namespace distgpu
