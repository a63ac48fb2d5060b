// The checks of a task's GPUs: that they can be opened, that their memory is free, and that NVLink
// to other nodes can be used.
//
// Opening a device node that the job's cgroup hides gives EPERM, one whose mode forbids it EACCES
// (the kernel's inode_permission() checks the mode first), and one without a driver ENXIO or
// ENODEV.
#include "base/format.h"
#include "base/io/files.h"
#include "base/values.h"
#include "check/checks.h"
#include "node/gpus.h"
#include "node/nvml.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace distgpu {
namespace {

// 0, or errno.
int open_error(const std::string& path) {
    return UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK)).is_open() ? 0 : errno;
}

// The files in the folder whose names are the prefix and a number.
std::vector<std::string> numbered_files(const std::string& folder, std::string_view prefix) {
    std::vector<std::string> paths;
    for (const std::string& name : files_in(folder)) {
        const bool has_number =
            name.starts_with(prefix) && whole_number(name.substr(prefix.size()));
        if (has_number) paths.push_back(formatted("{}/{}", folder, name));
    }
    return paths;
}

// nullopt if it opens, or if the cgroup hides it: it may be the node of a GPU outside the job.
std::optional<Finding> check_device(const std::string& path) {
    const int problem = open_error(path);
    if (problem == 0 || problem == EPERM) return std::nullopt;
    if (problem == ENXIO || problem == ENODEV) {
        return fatal(path, "no driver answers", "check the driver with nvidia-smi and dmesg");
    }
    return fatal(path, std::strerror(problem),
                 problem == ENOENT
                     ? "check the driver with nvidia-smi or rocm-smi"
                     : "ask the administrator to check the mode and group of that file");
}

// If the cgroup hides nodes, Slurm's numbers are not theirs; the nodes that open are the task's.
std::optional<Finding> check_device_count(std::uint32_t gpus,
                                          const std::vector<std::string>& nodes) {
    const auto opened = std::count_if(
        nodes.begin(), nodes.end(), [](const std::string& path) { return open_error(path) == 0; });
    if (static_cast<std::size_t>(opened) >= gpus) return std::nullopt;
    for (const std::string& path : nodes) {
        if (auto finding = check_device(path)) return finding;
    }
    return fatal("GPUs", formatted("Slurm gave {}, but only {} can be opened", gpus, opened),
                 "ask the administrator to check gres.conf and cgroup.conf of this node");
}

Findings check_nvidia(const std::vector<std::string_view>& names, const NodeTopology* topology,
                      const MachineRoots& roots) {
    Findings findings;
    bool are_numbers = true;
    for (const std::string_view name : names) {
        const auto index = whole_number(name);
        are_numbers = are_numbers && index;
        if (!index) continue;  // a UUID
        const bool is_known = topology != nullptr && *index < topology->gpus.size();
        const std::uint32_t minor =
            is_known ? topology->gpus[*index].minor.value_or(*index) : *index;
        add_finding(findings, check_device(device_file(GpuVendor::nvidia, minor, roots.dev)));
    }
    const std::string control = roots.dev + "/nvidiactl";
    if (access(control.c_str(), F_OK) == 0) add_finding(findings, check_device(control));
    // Several MIG instances may belong to one GPU.
    const auto min_count = static_cast<std::uint32_t>(are_numbers ? names.size() : 1);
    if (findings.empty()) {
        add_finding(findings, check_device_count(min_count, numbered_files(roots.dev, "nvidia")));
    }
    return findings;
}

Findings check_render_nodes(const std::vector<std::string_view>& names,
                            const NodeTopology* topology, const MachineRoots& roots, bool is_amd) {
    Findings findings;
    if (is_amd) add_finding(findings, check_device(roots.dev + "/kfd"));
    for (const std::string_view name : names) {
        const auto index =
            whole_number(name.substr(0, name.find('.')));  // "0.1" is a tile of GPU 0
        if (!index || topology == nullptr || *index >= topology->gpus.size()) continue;
        const Gpu& gpu = topology->gpus[*index];
        if (!gpu.minor) continue;
        add_finding(findings, check_device(device_file(gpu.vendor, *gpu.minor, roots.dev)));
    }
    return findings;
}

bool has_amd_gpus(const NodeTopology* topology) {
    return topology != nullptr && !topology->gpus.empty() &&
           topology->gpus.front().vendor == GpuVendor::amd;
}

std::optional<Finding> check_free_memory(std::uint32_t index, const Gpu& gpu,
                                         const GpuMemory& memory) {
    constexpr std::uint64_t tenth = 10;
    const std::uint64_t used = memory.total - memory.free;
    if (used <= memory.total / tenth) return std::nullopt;
    const auto gibibytes = [](std::uint64_t bytes) {
        constexpr double gibi = 1U << 30U;
        return static_cast<double>(bytes) / gibi;
    };
    return fatal(
        formatted("GPU {} ({})", index, gpu.pci),
        formatted("{:.1f} of {:.1f} GiB of its memory are in use before the program starts",
                  gibibytes(used), gibibytes(memory.total)),
        "find with nvidia-smi which process of an earlier job is still running");
}

}  // namespace

std::uint32_t visible_gpu_count(const Environment& environment, const NodeTopology* topology) {
    const bool hides_all = hides_all_gpus(environment, has_amd_gpus(topology));
    if (hides_all || gpu_variables(environment).empty()) return 0;
    return static_cast<std::uint32_t>(comma_items(visible_gpus(environment)).size());
}

Findings check_gpus(const Environment& environment, const NodeTopology* topology,
                    const MachineRoots& roots) {
    const auto variables = gpu_variables(environment);
    const bool has_gpus = topology != nullptr && !topology->gpus.empty();
    // Slurm also sets CUDA_VISIBLE_DEVICES for AMD's GPUs, in addition to ROCR_VISIBLE_DEVICES.
    const bool is_amd = has_amd_gpus(topology);
    if (hides_all_gpus(environment, is_amd)) {
        if (variables.empty() && !has_gpus) return {};
        const std::string value = environment.text("CUDA_VISIBLE_DEVICES");
        return {warning("CUDA_VISIBLE_DEVICES",
                        formatted("is {}, so the program sees no GPU",
                                  value.empty() ? "empty" : excerpt(value)),
                        "if it should use one, do not set this variable in scripts or profiles, "
                        "and use srun --gres=gpu:N")};
    }
    if (variables.empty()) {
        if (!has_gpus) return {};
        return {warning("GPUs",
                        formatted("none in this step, but {} on this node", topology->gpus.size()),
                        "use srun --gres=gpu:N or --gpus-per-node=N")};
    }
    const std::string& variable = variables.front();
    const std::string list = visible_gpus(environment);
    const auto names = comma_items(list);
    if (variable == "CUDA_VISIBLE_DEVICES" && !is_amd) {
        return check_nvidia(names, topology, roots);
    }
    return check_render_nodes(names, topology, roots, variable != "ZE_AFFINITY_MASK");
}

std::optional<Finding> check_other_gpus(const Environment& environment,
                                        const NodeTopology& topology) {
    const std::string others = left_out_gpus(topology);
    if (others.empty() || gpu_variables(environment).empty()) return std::nullopt;
    return warning("GPUs", "the node also has " + others,
                   "for a step on the others, use --gres=gpu:TYPE:N and the key bind=none");
}

const NamedCheck gpus_check{
    "gpus",
    "The GPUs that Slurm gave the task can be opened, and no ranks share one against the plan.",
    applies_always,
    [](const CheckFacts& facts) {
        const NodeTopology* const topology = facts.own_task->node.topology.get();
        Findings findings = check_gpus(*facts.environment, topology);
        if (topology != nullptr) {
            add_finding(findings, check_other_gpus(*facts.environment, *topology));
        }
        return CheckResult{std::move(findings)};
    },
};

Findings check_gpu_memory(const Environment& environment, const NodeTopology& topology,
                          const std::string& library) {
    if (gpu_owner(environment) == GpuOwner::jobs) return {};
    const Nvml nvml(library);
    Findings findings;
    const std::string list = visible_gpus(environment);
    for (const std::string_view name : comma_items(list)) {
        const auto index = number_below(name, topology.gpus.size());
        if (!index) continue;
        const Gpu& gpu = topology.gpus[*index];
        const auto memory = nvml.memory(gpu.pci);
        if (!memory) continue;
        add_finding(findings, check_free_memory(*index, gpu, *memory));
    }
    return findings;
}

const NamedCheck memory_check{
    "memory",
    "No other process uses the memory of the task's GPUs, according to NVIDIA's library.",
    [](const CheckFacts& facts) {
        return facts.own_task->node.topology != nullptr &&
               !visible_gpus(*facts.environment).empty();
    },
    [](const CheckFacts& facts) {
        return CheckResult{check_gpu_memory(*facts.environment, *facts.own_task->node.topology)};
    },
};

// Slurm's switch/nvidia_imex (since 24.05) creates channelN in the mount namespace of each step;
// without it, the administrator or the driver's option NVreg_CreateImexChannel0 creates channel0
// (https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/imexchannels.html). Every recent
// driver registers these devices, so only NVML knows whether the GPUs need one. If the check fails,
// NCCL ends with an error (ncclMnnvlCheck() in mnnvl.cc, NCCL 2.28).
Findings check_nvlink(const Environment& environment, const NodeTopology& topology,
                      const MachineRoots& roots, const std::string& library) {
    if (environment.text("NCCL_MNNVL_ENABLE") == "0") return {};
    const std::string folder = roots.dev + "/nvidia-caps-imex-channels";
    std::string object = folder;
    std::string problem = "has no IMEX channel";
    for (const std::string& channel : numbered_files(folder, "channel")) {
        const int error = open_error(channel);
        if (error == 0) return {};
        object = channel;
        problem = std::strerror(error);
    }
    const Nvml nvml(library);
    const bool is_linked = std::ranges::any_of(topology.gpus, [&](const Gpu& gpu) {
        return gpu.vendor == GpuVendor::nvidia && nvml.is_linked_to_other_nodes(gpu.pci);
    });
    if (!is_linked) return {};
    return {warning(object,
                    problem + ", so NCCL cannot use NVLink between nodes and ends with an error",
                    "ask the administrator for SwitchType=switch/nvidia_imex in slurm.conf, or for "
                    "the option NVreg_CreateImexChannel0=1 of NVIDIA's driver; with "
                    "NCCL_MNNVL_ENABLE=0 NCCL uses the network instead")};
}

const NamedCheck nvlink_check{
    "nvlink",
    "NCCL can use NVLink between nodes if it connects them: an IMEX channel can be opened.",
    [](const CheckFacts& facts) {
        return facts.own_task->place.layout.node_count() > 1 &&
               facts.own_task->node.topology != nullptr &&
               !visible_gpus(*facts.environment).empty();
    },
    [](const CheckFacts& facts) {
        return CheckResult{check_nvlink(*facts.environment, *facts.own_task->node.topology)};
    },
};

}  // namespace distgpu
