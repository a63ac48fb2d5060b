#include "node/gpu_devices.h"

#include "base/format.h"
#include "base/values.h"
#include "node/nvidia_driver.h"

#include <filesystem>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace distgpu {
namespace {

// N of the device's drm/renderDN; a partitioned GPU has the first partition's there.
std::optional<std::uint32_t> render_minor(const std::string& sys, const std::string& pci) {
    constexpr std::string_view prefix = "renderD";
    std::error_code error;
    const std::string folder = formatted("{}/bus/pci/devices/{}/drm", sys, pci);
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(prefix)) return whole_number(name.substr(prefix.size()));
    }
    return std::nullopt;
}

}  // namespace

std::string device_file(GpuVendor vendor, std::uint32_t minor, const std::string& dev) {
    return vendor == GpuVendor::nvidia ? formatted("{}/nvidia{}", dev, minor)
                                       : formatted("{}/dri/renderD{}", dev, minor);
}

void ask_drivers(NodeTopology& topology, const MachineRoots& roots) {
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

}  // namespace distgpu
