#include "node/discovery/gpus.h"

#include "node/discovery/gpu_identity.h"
#include "node/discovery/hwloc_values.h"
#include "node/discovery/nearest_cpus.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace distgpu::discovery {
namespace {

// PCI classes and vendors, as https://pci-ids.ucw.cz lists them.
constexpr unsigned vga = 0x0300;
constexpr unsigned controller_3d = 0x0302;
constexpr unsigned other_display = 0x0380;
constexpr unsigned accelerator = 0x1200;
constexpr unsigned amd = 0x1002;
constexpr unsigned nvidia = 0x10de;
constexpr unsigned intel = 0x8086;

// Nothing: not a GPU. A management controller's screen is a VGA device too, of another vendor;
// an MI300A is an accelerator, while those of Intel are no GPUs.
std::optional<GpuVendor> gpu_vendor(hwloc_obj_t pci_device) {
    const auto& pci = pci_device->attr->pcidev;
    const bool display =
        pci.class_id == vga || pci.class_id == controller_3d || pci.class_id == other_display;
    if (pci.vendor_id == nvidia && display) return GpuVendor::nvidia;
    if (pci.vendor_id == amd && (display || pci.class_id == accelerator)) return GpuVendor::amd;
    if (pci.vendor_id == intel && display) return GpuVendor::intel;
    return std::nullopt;
}

struct Candidate {
    GpuVendor vendor;
    PciAddress address;
    hwloc_obj_t pci_device;
};

// Of one vendor, by address.
std::vector<Candidate> candidates(const Source& source) {
    std::vector<Candidate> found;
    for (hwloc_obj_t device = hwloc_get_next_pcidev(source.topology, nullptr); device != nullptr;
         device = hwloc_get_next_pcidev(source.topology, device)) {
        const PciAddress address = pci_address(device);
        const auto vendor = gpu_vendor(device);
        if (vendor && !is_virtual_function(source, pci_name(address))) {
            found.push_back({*vendor, address, device});
        }
    }
    std::sort(found.begin(), found.end(), [](const Candidate& left, const Candidate& right) {
        return std::pair(left.vendor, left.address) < std::pair(right.vendor, right.address);
    });
    const auto others = std::find_if(
        found.begin(), found.end(),
        [&found](const Candidate& candidate) { return candidate.vendor != found.front().vendor; });
    found.erase(others, found.end());
    return found;
}

}  // namespace

std::vector<FoundGpu> find_gpus(const Source& source) {
    std::vector<FoundGpu> gpus;
    GpuIdentities identities(source.roots);
    for (const Candidate& candidate : candidates(source)) {
        NearestCpus nearest = nearest_cpus(source, candidate.pci_device);
        Gpu gpu;
        gpu.pci = pci_name(candidate.address);
        gpu.vendor = candidate.vendor;
        gpu.numa = nearest.numa;
        gpu.cpus = std::move(nearest.cpus);
        for (Gpu& identified : identities.identify(gpu, candidate.pci_device)) {
            gpus.push_back({std::move(identified), candidate.pci_device});
        }
    }
    return gpus;
}

}  // namespace distgpu::discovery
