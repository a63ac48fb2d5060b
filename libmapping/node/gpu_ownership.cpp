// See gpu_ownership.h.
#include "node/gpu_ownership.h"

#include <algorithm>
#include <array>

namespace distgpu {
namespace {

bool is_set(const Environment& environment, const char* name) {
    return !environment.get(name).value_or("").empty();
}

}  // namespace

GpuOwner gpu_owner(const Environment& environment) {
    // What Slurm sets in a step with gres mps or shard; of a user's own MPS daemon too.
    constexpr std::array shared{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "SLURM_SHARDS_ON_NODE"};
    // srun's options --gpus-per-task, --gpu-bind, --tres-bind and --ntasks-per-gpu.
    constexpr std::array bound{"SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND", "SLURM_TRES_BIND",
                               "SLURM_NTASKS_PER_GPU"};
    const auto set = [&](const char* name) { return is_set(environment, name); };
    if (std::any_of(shared.begin(), shared.end(), set)) return GpuOwner::jobs;
    return std::any_of(bound.begin(), bound.end(), set) ? GpuOwner::task : GpuOwner::step;
}

std::vector<std::string> gpu_variables(const Environment& environment) {
    std::vector<std::string> names;
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
        if (is_set(environment, name)) names.emplace_back(name);
    }
    return names;
}

GpuLists gpu_lists(const Environment& environment) {
    const std::vector<std::string> names = gpu_variables(environment);
    return {environment.get("SLURM_STEP_GPUS").value_or(""),
            names.empty() ? std::string{} : *environment.get(names.front())};
}

std::optional<StepGpus> gpus_to_order(const Environment& task,
                                      const std::optional<GpuLists>& of_step,
                                      std::size_t node_gpus) {
    const GpuOwner owner = gpu_owner(task);
    if (owner == GpuOwner::jobs || (owner == GpuOwner::task && !of_step)) return std::nullopt;
    if (gpu_variables(task).empty()) return std::nullopt;
    const GpuLists lists = of_step.value_or(gpu_lists(task));
    return step_gpus(lists.global, lists.visible, node_gpus);
}

}  // namespace distgpu
