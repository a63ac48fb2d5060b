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

// MIG instances have one each.
constexpr std::size_t most_gpus = 256;

bool has_uuid(const Gpu& gpu, std::string_view uuid) {
    return gpu.uuid == uuid ||
           std::ranges::find(gpu.mig, uuid, &MigInstance::uuid) != gpu.mig.end();
}

GpuFacts named(std::string_view name, const Environment& variables, const BoundRecord& bound,
               const NodeTopology& topology) {
    const auto recorded = std::ranges::find(bound.gpus, name, &BoundGpu::name);
    const bool is_recorded = recorded != bound.gpus.end();
    const bool counts_all =
        bound.gpus.empty() && variables.number("SLURM_GPUS_ON_NODE") == topology.gpus.size();
    const auto index = counts_all ? number_below(name, topology.gpus.size()) : std::nullopt;
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
        // Of a topology that the administrator named the plugin alone knows.
        const NvidiaInformation found = nvidia_information("/proc", recorded->pci);
        facts.pci = recorded->pci;
        facts.model = found.model;
        if (found.minor) facts.file = device_file(GpuVendor::nvidia, *found.minor);
    }
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
    std::set<std::string> files;
    for_each_open_file(pid, [&](const std::string& file) {
        for (const std::string_view beginning : {"/dev/nvidia", "/dev/dri/renderD"}) {
            if (!file.starts_with(beginning)) continue;
            if (whole_number(std::string_view(file).substr(beginning.size()))) files.insert(file);
        }
        return files.size() < most_gpus;
    });
    return {files.begin(), files.end()};
}

std::vector<Busy> ask_gpu_load(const std::vector<std::string>& gpus, const std::string& command,
                               bool& answers) {
    constexpr std::chrono::seconds limit{2};
    if (gpus.empty() || !answers) return std::vector<Busy>(gpus.size());
    // The step is not looked at there.
    const auto lines = run_command({command, "why", "--gpus", join(gpus, ","), "-"}, limit);
    answers = lines && !lines->empty();
    return parse_gpu_load(lines ? *lines : "", gpus);
}

std::string gpu_load_lines(const std::string& gpus, const std::string& library) {
    const Nvml nvml(library);
    std::string lines;
    for (const std::string_view gpu : comma_items(gpus)) {
        const auto busy = nvml.busy(std::string(gpu));
        if (busy) lines += formatted("{} {}\n", gpu, *busy);
    }
    return lines;
}

std::vector<Busy> parse_gpu_load(std::string_view lines, const std::vector<std::string>& gpus) {
    constexpr std::size_t percents = 101;
    std::map<std::string_view, Busy> found;
    while (!lines.empty()) {
        std::string_view line = take_until(lines, '\n');
        const std::string_view gpu = take_until(line, ' ');
        found[gpu] = number_below(line, percents);
    }
    std::vector<Busy> busy;
    busy.reserve(gpus.size());
    for (const std::string& gpu : gpus) busy.push_back(found[gpu]);
    return busy;
}

}  // namespace distgpu
