#include "inspect/rank_gpus.h"

#include "base/format.h"
#include "base/io/programs.h"
#include "base/values.h"
#include "inspect/process_facts.h"
#include "node/gpus.h"
#include "node/node_topology.h"
#include "node/nvml.h"
#include "node/own_task.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace distgpu {
namespace {

// Counts each MIG instance.
constexpr std::size_t max_gpus = 256;

bool has_uuid(const Gpu& gpu, std::string_view uuid) {
    return gpu.uuid == uuid ||
           std::ranges::find(gpu.mig, uuid, &MigInstance::uuid) != gpu.mig.end();
}

GpuFacts find_gpu(std::string_view name, const Environment& variables, const BoundRecord& bound,
                  const NodeTopology& topology) {
    const auto recorded = std::ranges::find(bound.gpus, name, &BoundGpu::name);
    const bool is_recorded = recorded != bound.gpus.end();
    const bool has_all_gpus =
        bound.gpus.empty() && variables.number("SLURM_GPUS_ON_NODE") == topology.gpus.size();
    const auto index = has_all_gpus ? number_below(name, topology.gpus.size()) : std::nullopt;
    const auto gpu = std::ranges::find_if(topology.gpus, [&](const Gpu& each) {
        if (is_recorded) return each.pci == recorded->pci;
        return index ? &each == &topology.gpus[*index] : has_uuid(each, name);
    });
    GpuFacts facts{.name = std::string(name)};
    if (gpu != topology.gpus.end()) {
        facts.pci = gpu->pci;
        facts.model = gpu->model;
        if (gpu->minor) facts.file = device_file(gpu->vendor, *gpu->minor);
    } else if (is_recorded) {
        // Bound by a topology file that the administrator chose, which only the plugin knows.
        const NvidiaInformation found = nvidia_information("/proc", recorded->pci);
        facts.pci = recorded->pci;
        facts.model = found.model;
        if (found.minor) facts.file = device_file(GpuVendor::nvidia, *found.minor);
    }
    return facts;
}

// HIP numbers from 0 the GPUs that ROCR_VISIBLE_DEVICES leaves (docs/binding.md).
std::string visible_amd_gpus(const Environment& variables) {
    const std::string left = variables.text("ROCR_VISIBLE_DEVICES");
    const std::string hip = variables.text("HIP_VISIBLE_DEVICES");
    const std::string list = hip.empty() ? variables.text("CUDA_VISIBLE_DEVICES") : hip;
    if (left.empty() || list.empty()) return left + list;
    const auto names = comma_items(left);
    std::vector<std::string_view> visible;
    for (const std::string_view item : comma_items(list)) {
        if (const auto index = number_below(item, names.size())) visible.push_back(names[*index]);
    }
    return join(visible, ",");
}

}  // namespace

std::vector<GpuFacts> named_gpus(const Environment& variables, const BoundRecord& bound,
                                 const NodeTopology& topology) {
    std::vector<GpuFacts> gpus;
    const bool is_amd = !topology.gpus.empty() && topology.gpus.front().vendor == GpuVendor::amd;
    if (hides_all_gpus(variables, is_amd)) return gpus;
    const std::string list = is_amd ? visible_amd_gpus(variables) : visible_gpus(variables);
    for (const std::string_view name : comma_items(list)) {
        if (name.empty() || gpus.size() == max_gpus) continue;
        gpus.push_back(find_gpu(name, variables, bound, topology));
    }
    return gpus;
}

std::vector<GpuFacts> NodeGpus::find(const Environment& variables, const BoundRecord& bound) {
    if (visible_gpus(variables).empty()) return {};
    if (!topology_) {
        auto found = find_topology({default_topology_file, false, own_program_path()});
        topology_ = found ? std::move(found->topology) : NodeTopology{};
        read_driver_ids(*topology_);
    }
    return named_gpus(variables, bound, *topology_);
}

std::vector<std::string> open_gpu_files(pid_t pid) {
    std::set<std::string> files;
    for_each_open_file(pid, [&](const std::string& file) {
        for (const std::string_view beginning : {"/dev/nvidia", "/dev/dri/renderD"}) {
            if (!file.starts_with(beginning)) continue;
            if (whole_number(std::string_view(file).substr(beginning.size()))) files.insert(file);
        }
        return files.size() < max_gpus;
    });
    return {files.begin(), files.end()};
}

std::vector<GpuLoad> read_gpu_load(const std::vector<std::string>& gpus, const std::string& command,
                                   bool& can_read) {
    constexpr std::chrono::seconds limit{2};
    if (gpus.empty() || !can_read) return std::vector<GpuLoad>(gpus.size());
    // "-" in place of the step, which is not needed.
    const auto lines = run_command({command, "why", "--gpus", join(gpus, ","), "-"}, limit);
    can_read = lines && !lines->empty();
    return parse_gpu_load(lines ? *lines : "", gpus);
}

std::string gpu_load_lines(const std::string& gpus, const std::string& library) {
    const Nvml nvml(library);
    std::string lines;
    for (const std::string_view gpu : comma_items(gpus)) {
        const auto load = nvml.utilization(std::string(gpu));
        if (load) lines += formatted("{} {}\n", gpu, *load);
    }
    return lines;
}

std::vector<GpuLoad> parse_gpu_load(std::string_view lines, const std::vector<std::string>& gpus) {
    constexpr std::size_t percent_limit = 101;
    std::map<std::string_view, GpuLoad> found;
    while (!lines.empty()) {
        std::string_view line = cut_until(lines, '\n');
        const std::string_view gpu = cut_until(line, ' ');
        found[gpu] = number_below(line, percent_limit);
    }
    std::vector<GpuLoad> loads;
    loads.reserve(gpus.size());
    for (const std::string& gpu : gpus) loads.push_back(found[gpu]);
    return loads;
}

}  // namespace distgpu
