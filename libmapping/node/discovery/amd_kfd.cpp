// The fields are those of the kernel's drivers/gpu/drm/amd/amdkfd/kfd_topology.c.
#include "node/discovery/amd_kfd.h"

#include "base/format.h"
#include "base/io/file_text.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

namespace distgpu::discovery {
namespace {

// The number in the line "NAME NUMBER"; 0: there is none.
std::uint64_t property(std::string_view properties, std::string_view name) {
    const std::string_view text = value_after(properties, formatted("{} ", name));
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// location_id: bus, device and function in bits 0-15, the partition in bits 28-31.
KfdGpu gpu_of(std::string_view properties) {
    const std::uint64_t location = property(properties, "location_id");
    const auto minor = static_cast<std::uint32_t>(property(properties, "drm_render_minor"));
    return {property(properties, "domain") << 16U | (location & 0xffffU),
            static_cast<std::uint32_t>(location >> 28U),
            minor == 0 ? std::nullopt : std::optional(minor),  // render nodes begin at 128
            amd_uuid(property(properties, "unique_id"))};
}

}  // namespace

std::string amd_uuid(std::uint64_t unique_id) {
    return unique_id == 0 ? "" : formatted("GPU-{:016x}", unique_id);
}

std::vector<KfdGpu> kfd_gpus(const std::string& sys) {
    std::vector<KfdGpu> gpus;
    std::error_code error;
    const std::string nodes = sys + "/class/kfd/kfd/topology/nodes";
    for (std::filesystem::directory_iterator node(nodes, error), end; !error && node != end;
         node.increment(error)) {
        const auto properties = read_trimmed(node->path().string() + "/properties");
        // CPUs are nodes too: they have no SIMD units.
        if (properties && property(*properties, "simd_count") > 0) {
            gpus.push_back(gpu_of(*properties));
        }
    }
    std::sort(gpus.begin(), gpus.end(), [](const KfdGpu& left, const KfdGpu& right) {
        return std::pair(left.pci, left.partition) < std::pair(right.pci, right.partition);
    });
    return gpus;
}

}  // namespace distgpu::discovery
