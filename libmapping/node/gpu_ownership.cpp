#include "node/gpu_ownership.h"

#include "base/values.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace distgpu {
namespace {

bool is_set(const Environment& environment, const char* name) {
    return !environment.get(name).value_or("").empty();
}

// "gpu:verbose,per_task:2", "gres/gpu:per_task:2", "gpu:none", in which slurmd tells slurmstepd of
// the GPUs' binding (_parse_tres_bind() of gres.c, 22.05).
bool binds_gpus(std::string_view tres_bind) {
    constexpr std::string_view gpu = "gpu:";
    constexpr std::string_view verbose = "verbose,";
    const std::size_t at = tres_bind.find(gpu);
    if (at == std::string_view::npos) return false;
    tres_bind.remove_prefix(at + gpu.size());
    if (tres_bind.starts_with(verbose)) tres_bind.remove_prefix(verbose.size());
    return !tres_bind.starts_with("none");
}

}  // namespace

GpuOwner gpu_owner(const Environment& environment) {
    // What Slurm sets in a step with gres mps or shard; of a user's own MPS daemon too.
    constexpr std::array shared{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "SLURM_SHARDS_ON_NODE"};
    // sbatch's options --gpus-per-task, --gpu-bind, --tres-bind and --ntasks-per-gpu, which a step
    // inherits. srun itself sets none of them.
    constexpr std::array bound{"SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND", "SLURM_TRES_BIND",
                               "SLURM_NTASKS_PER_GPU"};
    const auto set = [&](const char* name) { return is_set(environment, name); };
    // "cpu=4,gres/gpu:h100=1", of --tres-per-task, and from 24.11 on of --gpus-per-task too. It may
    // hold CPUs alone.
    const std::string per_task = environment.get("SLURM_TRES_PER_TASK").value_or("");
    if (std::any_of(shared.begin(), shared.end(), set)) return GpuOwner::jobs;
    const bool of_task = std::any_of(bound.begin(), bound.end(), set) ||
                         binds_gpus(environment.get("SLURMD_TRES_BIND").value_or("")) ||
                         per_task.find("gres/gpu") != std::string::npos;
    return of_task ? GpuOwner::task : GpuOwner::step;
}

std::vector<std::string> gpu_variables(const Environment& environment) {
    std::vector<std::string> names;
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}) {
        if (is_set(environment, name)) names.emplace_back(name);
    }
    return names;
}

std::string visible_gpus(const Environment& environment) {
    const std::vector<std::string> names = gpu_variables(environment);
    return names.empty() ? std::string{} : *environment.get(names.front());
}

bool counts_by_pci(const Environment& environment) {
    const std::string order = environment.get("CUDA_DEVICE_ORDER").value_or("");
    return order.empty() || order == "PCI_BUS_ID";
}

}  // namespace distgpu
