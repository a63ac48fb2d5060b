#include "node/gpus.h"

#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"

#include <algorithm>
#include <unistd.h>

namespace distgpu {
namespace {

// N of the device's drm/renderDN; of a partitioned GPU, that of its first partition.
std::optional<std::uint32_t> render_minor(const std::string& sys, const std::string& pci) {
    constexpr std::string_view prefix = "renderD";
    for (const std::string& name : files_in(formatted("{}/bus/pci/devices/{}/drm", sys, pci))) {
        if (name.starts_with(prefix)) return whole_number(name.substr(prefix.size()));
    }
    return std::nullopt;
}

bool is_set(const Environment& environment, const char* name) {
    return !environment.text(name).empty();
}

// `tres_bind`: "gpu:verbose,per_task:2", "gres/gpu:per_task:2" or "gpu:none", by which slurmd
// passes the GPU binding to slurmstepd (_parse_tres_bind() in gres.c, 22.05).
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

std::string device_file(GpuVendor vendor, std::uint32_t minor, const std::string& dev) {
    return vendor == GpuVendor::nvidia ? formatted("{}/nvidia{}", dev, minor)
                                       : formatted("{}/dri/renderD{}", dev, minor);
}

void read_driver_ids(NodeTopology& topology, const MachineRoots& roots) {
    for (Gpu& gpu : topology.gpus) {
        if (gpu.minor && !gpu.uuid.empty()) continue;
        if (gpu.vendor == GpuVendor::nvidia) {
            NvidiaInformation found = nvidia_information(roots.proc, gpu.pci);
            if (found.minor) gpu.minor = found.minor;
            if (!found.uuid.empty()) gpu.uuid = std::move(found.uuid);
        } else if (!gpu.minor && gpu.partition == 0) {
            gpu.minor = render_minor(roots.sys, gpu.pci);
        }
    }
}

std::optional<std::vector<std::uint32_t>> usable_gpus(const NodeTopology& topology,
                                                      const std::string& dev) {
    std::vector<std::uint32_t> usable;
    for (std::uint32_t index = 0; index < topology.gpus.size(); ++index) {
        const Gpu& gpu = topology.gpus[index];
        if (!gpu.minor) return std::nullopt;
        const std::string file = device_file(gpu.vendor, *gpu.minor, dev);
        if (access(file.c_str(), R_OK | W_OK) == 0) usable.push_back(index);
    }
    return usable;
}

GpuOwner gpu_owner(const Environment& environment) {
    // Slurm sets these in a step with gres mps or shard; a user's own MPS daemon may set one too.
    constexpr std::array shared{"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "SLURM_SHARDS_ON_NODE"};
    // From sbatch's options --gpus-per-task, --gpu-bind, --tres-bind and --ntasks-per-gpu; a step
    // inherits them. srun itself sets none of them.
    constexpr std::array bound{"SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND", "SLURM_TRES_BIND",
                               "SLURM_NTASKS_PER_GPU"};
    const auto set = [&](const char* name) { return is_set(environment, name); };
    // "cpu=4,gres/gpu:h100=1", from --tres-per-task, and since 24.11 also from --gpus-per-task. May
    // contain only CPUs.
    const std::string per_task = environment.text("SLURM_TRES_PER_TASK");
    if (std::any_of(shared.begin(), shared.end(), set)) return GpuOwner::jobs;
    const bool is_bound = std::any_of(bound.begin(), bound.end(), set) ||
                          binds_gpus(environment.text("SLURMD_TRES_BIND")) ||
                          per_task.find("gres/gpu") != std::string::npos;
    return is_bound ? GpuOwner::task : GpuOwner::step;
}

std::vector<std::string> gpu_variables(const Environment& environment) {
    std::vector<std::string> names;
    for (const std::string_view name : gpu_list_variables.names) {
        if (!name.empty() && is_set(environment, name.data())) names.emplace_back(name);
    }
    return names;
}

std::string visible_gpus(const Environment& environment) {
    const std::vector<std::string> names = gpu_variables(environment);
    return names.empty() ? std::string{} : *environment.get(names.front());
}

bool hides_all_gpus(const Environment& environment, bool is_amd) {
    const auto list = environment.get("CUDA_VISIBLE_DEVICES");
    if (!list || (is_amd && list->empty())) return false;
    std::string_view rest = *list;
    const std::string_view first = cut_until(rest, ',');
    return first.empty() || first.starts_with('-') || first == "NoDevFiles";
}

bool uses_pci_order(const Environment& environment) {
    const std::string order = environment.text("CUDA_DEVICE_ORDER");
    return order.empty() || order == "PCI_BUS_ID";
}

NvidiaInformation nvidia_information(const std::string& proc, const std::string& pci) {
    const auto text = read_trimmed(formatted("{}/driver/nvidia/gpus/{}/information", proc, pci));
    if (!text) return {};
    NvidiaInformation information;
    information.model = value_after(*text, "Model:");
    information.minor = whole_number(value_after(*text, "Device Minor:"));
    // "GPU-????????-..." until something first opens the GPU.
    const std::string_view uuid = value_after(*text, "GPU UUID:");
    if (uuid.find('?') == std::string_view::npos) information.uuid = uuid;
    return information;
}

bool nvidia_driver_has_gpus(const std::string& proc) {
    return !files_in(proc + "/driver/nvidia/gpus").empty();
}

bool has_mig_instances(const std::string& proc, std::uint32_t minor) {
    const auto names = files_in(formatted("{}/driver/nvidia/capabilities/gpu{}/mig", proc, minor));
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.starts_with("gi"); });
}

}  // namespace distgpu
