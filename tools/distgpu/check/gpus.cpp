// A device node that the job's cgroup hides answers EPERM, one whose mode forbids it
// EACCES (inode_permission() of the kernel asks the mode first), and one without a driver ENXIO or
// ENODEV.
#include "check/gpus.h"

#include "base/format.h"
#include "base/values.h"
#include "check/check_list.h"
#include "node/gpu_devices.h"
#include "node/gpu_ownership.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace distgpu {
namespace {

using Weight = Finding::Weight;
namespace fs = std::filesystem;

// 0, or errno.
int open_error(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno;
    close(fd);
    return 0;
}

// Files of the folder whose names are the prefix and a number.
std::vector<std::string> numbered(const std::string& folder, std::string_view prefix) {
    std::vector<std::string> paths;
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
        const std::string name = entry.path().filename();
        if (name.compare(0, prefix.size(), prefix) == 0 &&
            whole_number(name.substr(prefix.size()))) {
            paths.push_back(entry.path());
        }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::string nvidia_node(std::uint32_t index, const NodeTopology* topology,
                        const DeviceRoots& roots) {
    const bool known = topology != nullptr && index < topology->gpus.size();
    const std::uint32_t minor = known ? topology->gpus[index].minor.value_or(index) : index;
    return device_file(GpuVendor::nvidia, minor, roots.dev);
}

// Nothing: the task names the GPU in another way, or the topology lacks it.
std::optional<std::string> render_node(std::uint32_t index, const NodeTopology* topology,
                                       const DeviceRoots& roots) {
    if (topology == nullptr || index >= topology->gpus.size()) return std::nullopt;
    const std::string drm =
        formatted("{}/bus/pci/devices/{}/drm", roots.sys, topology->gpus[index].pci);
    const auto nodes = numbered(drm, "renderD");
    if (nodes.empty()) return std::nullopt;
    return formatted("{}/dri/{}", roots.dev, fs::path(nodes.front()).filename().string());
}

std::string reason(int problem) {
    if (problem == ENXIO || problem == ENODEV) return "no driver answers";
    if (problem == EPERM) return "this job may not use it";
    return std::strerror(problem);
}

std::string advice(int problem) {
    if (problem == ENOENT) return "check the driver with nvidia-smi or rocm-smi";
    if (problem == ENXIO || problem == ENODEV) return "check the driver with nvidia-smi and dmesg";
    return "ask the administrator to check the mode and group of that file";
}

// Nothing: it opens, or the cgroup hides it, which may be another GPU's node.
std::optional<Finding> cannot_open(const std::string& path) {
    const int problem = open_error(path);
    if (problem == 0 || problem == EPERM) return std::nullopt;
    return Finding{Weight::fatal, {path, reason(problem), advice(problem)}};
}

// Where the cgroup hides nodes, Slurm's numbers are not theirs; those that open are the task's.
std::optional<Finding> too_few(std::uint32_t gpus, const std::vector<std::string>& nodes) {
    const auto opened = std::count_if(
        nodes.begin(), nodes.end(), [](const std::string& path) { return open_error(path) == 0; });
    if (static_cast<std::size_t>(opened) >= gpus) return std::nullopt;
    for (const std::string& path : nodes) {
        if (auto finding = cannot_open(path)) return finding;
    }
    return Finding{Weight::fatal,
                   {"GPUs", formatted("Slurm gave {}, but only {} can be opened", gpus, opened),
                    "ask the administrator to check gres.conf and cgroup.conf of this node"}};
}

Findings check_nvidia(const std::vector<std::string_view>& names, const NodeTopology* topology,
                      const DeviceRoots& roots) {
    Findings findings;
    bool numbers = true;
    for (const std::string_view name : names) {
        const auto index = whole_number(name);
        numbers = numbers && index;
        if (!index) continue;  // a UUID
        if (auto finding = cannot_open(nvidia_node(*index, topology, roots))) {
            findings.push_back(*std::move(finding));
        }
    }
    const std::string control = roots.dev + "/nvidiactl";
    if (fs::exists(control)) {
        if (auto finding = cannot_open(control)) findings.push_back(*std::move(finding));
    }
    // Several MIG instances may be of one GPU.
    const auto least = static_cast<std::uint32_t>(numbers ? names.size() : 1);
    if (findings.empty()) {
        if (auto finding = too_few(least, numbered(roots.dev, "nvidia"))) {
            findings.push_back(*std::move(finding));
        }
    }
    return findings;
}

Findings check_render_nodes(const std::vector<std::string_view>& names,
                            const NodeTopology* topology, const DeviceRoots& roots, bool amd) {
    std::vector<std::string> paths;
    if (amd) paths.push_back(roots.dev + "/kfd");
    for (const std::string_view name : names) {
        const auto index =
            whole_number(name.substr(0, name.find('.')));  // "0.1" is a tile of GPU 0
        const auto path = index ? render_node(*index, topology, roots) : std::nullopt;
        if (path) paths.push_back(*path);
    }
    Findings findings;
    for (const std::string& path : paths) {
        if (auto finding = cannot_open(path)) findings.push_back(*std::move(finding));
    }
    return findings;
}

Findings no_gpu(const NodeTopology* topology) {
    if (topology == nullptr || topology->gpus.empty()) return {};
    return {{Weight::warning,
             {"GPUs", formatted("none in this step, but {} on this node", topology->gpus.size()),
              "use srun --gres=gpu:N or --gpus-per-node=N"}}};
}

}  // namespace

std::uint32_t given_gpus(const Environment& environment) {
    const auto variables = gpu_variables(environment);
    if (variables.empty()) return 0;
    const std::string list = *environment.get(variables.front());
    return static_cast<std::uint32_t>(comma_items(list).size());
}

Findings check_gpus(const Environment& environment, const NodeTopology* topology,
                    const DeviceRoots& roots) {
    const auto variables = gpu_variables(environment);
    if (variables.empty()) return no_gpu(topology);
    const std::string& variable = variables.front();
    const std::string list = *environment.get(variable);
    const auto names = comma_items(list);
    // Slurm sets CUDA_VISIBLE_DEVICES for AMD's too, beside ROCR_VISIBLE_DEVICES.
    const bool amd = topology != nullptr && !topology->gpus.empty() &&
                     topology->gpus.front().vendor == GpuVendor::amd;
    if (variable == "CUDA_VISIBLE_DEVICES" && !amd) {
        return check_nvidia(names, topology, roots);
    }
    return check_render_nodes(names, topology, roots, variable != "ZE_AFFINITY_MASK");
}

const NamedCheck gpus_check{
    "gpus",
    "The GPUs that Slurm gave the task can be opened.",
    always,
    [](const CheckFacts& facts) {
        return CheckResult{check_gpus(*facts.environment, facts.own->node.topology.get())};
    },
};

}  // namespace distgpu
