#include "inspect/rank_gpus.h"

#include "base/format.h"
#include "base/values.h"
#include "node/gpu_devices.h"
#include "node/gpu_ownership.h"
#include "node/node_topology.h"
#include "node/nvidia_driver.h"
#include "node/own_task.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

// MIG instances have one each.
constexpr std::size_t most_gpus = 256;

void add_hardware(const Gpu& gpu, GpuFacts& facts) {
    facts.pci = gpu.pci;
    facts.model = gpu.model;
    if (gpu.minor) facts.file = device_file(gpu.vendor, *gpu.minor);
}

const Gpu* with_uuid(std::string_view name, const NodeTopology& topology) {
    const auto has = [&](const Gpu& gpu) {
        return (!gpu.uuid.empty() && gpu.uuid == name) ||
               std::any_of(gpu.mig.begin(), gpu.mig.end(),
                           [&](const MigInstance& instance) { return instance.uuid == name; });
    };
    const auto found = std::find_if(topology.gpus.begin(), topology.gpus.end(), has);
    return found == topology.gpus.end() ? nullptr : &*found;
}

const Gpu* with_pci(std::string_view pci, const NodeTopology& topology) {
    const auto found = std::find_if(topology.gpus.begin(), topology.gpus.end(),
                                    [&](const Gpu& gpu) { return gpu.pci == pci; });
    return found == topology.gpus.end() ? nullptr : &*found;
}

// Of a topology that the administrator named the plugin alone knows.
GpuFacts of_driver(const BoundGpu& gpu) {
    const NvidiaInformation found = nvidia_information("/proc", gpu.pci);
    return {gpu.name, gpu.pci, found.minor ? device_file(GpuVendor::nvidia, *found.minor) : "",
            found.model};
}

bool has_all(const Environment& variables, const NodeTopology& topology) {
    return whole_number(variables.get("SLURM_GPUS_ON_NODE").value_or("")) == topology.gpus.size();
}

GpuFacts named(std::string_view name, const Environment& variables, const BoundRecord& bound,
               const NodeTopology& topology) {
    GpuFacts facts{.name = std::string(name)};
    const auto recorded = std::find_if(bound.gpus.begin(), bound.gpus.end(),
                                       [&](const BoundGpu& gpu) { return gpu.name == name; });
    const Gpu* gpu = with_uuid(name, topology);
    if (recorded != bound.gpus.end()) {
        gpu = with_pci(recorded->pci, topology);
        if (gpu == nullptr) return of_driver(*recorded);
    } else if (const auto index = number_below(name, topology.gpus.size());
               index && bound.gpus.empty() && has_all(variables, topology)) {
        gpu = &topology.gpus[*index];
    }
    if (gpu != nullptr) add_hardware(*gpu, facts);
    return facts;
}

}  // namespace

std::vector<GpuFacts> named_gpus(const Environment& variables, const BoundRecord& bound,
                                 const NodeTopology& topology) {
    std::vector<GpuFacts> gpus;
    const std::string list = visible_gpus(variables);
    for (const std::string_view name : comma_items(list)) {
        if (name.empty() || gpus.size() == most_gpus) continue;
        gpus.push_back(named(name, variables, bound, topology));
    }
    return gpus;
}

std::vector<GpuFacts> NodeGpus::of(const Environment& variables, const BoundRecord& bound) {
    if (visible_gpus(variables).empty()) return {};
    if (!topology_) {
        auto found = find_topology({default_topology_file, false, own_command()});
        topology_ = found ? std::move(found->topology) : NodeTopology{};
        ask_drivers(*topology_);
    }
    return named_gpus(variables, bound, *topology_);
}

std::vector<std::string> open_gpu_files(pid_t pid) {
    constexpr std::array<std::string_view, 2> beginnings{"/dev/nvidia", "/dev/dri/renderD"};
    std::set<std::string> files;
    std::error_code error;
    for (std::filesystem::directory_iterator each(formatted("/proc/{}/fd", pid), error), end;
         !error && each != end && files.size() < most_gpus; each.increment(error)) {
        std::error_code gone;
        std::string target = std::filesystem::read_symlink(each->path(), gone);
        const bool is_gpu =
            std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view beginning) {
                return target.starts_with(beginning) &&
                       whole_number(std::string_view(target).substr(beginning.size()));
            });
        if (is_gpu) files.insert(std::move(target));
    }
    return {files.begin(), files.end()};
}

}  // namespace distgpu
