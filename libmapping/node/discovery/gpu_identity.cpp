#include "node/discovery/gpu_identity.h"

#include "base/format.h"
#include "base/io/file_text.h"
#include "node/discovery/hwloc_values.h"
#include "node/discovery/natural_order.h"
#include "node/nvidia_driver.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>

namespace distgpu::discovery {
namespace {

// The first of these infos that an OS device has.
std::string first_info(const std::vector<hwloc_obj_t>& os_devices, const char* name) {
    for (hwloc_obj* const device : os_devices) {
        if (std::string value = info(device, name); !value.empty()) return value;
    }
    return {};
}

// hwloc has the bare number.
std::string amd_uuid_of(const std::string& text) {
    std::uint64_t id = 0;
    std::from_chars(text.data(), text.data() + text.size(), id, 16);
    return amd_uuid(id);
}

// What the OS devices, which vendors' libraries told hwloc of, say of their GPU.
void describe(Gpu& gpu, const std::vector<hwloc_obj_t>& os_devices) {
    if (std::string model = first_info(os_devices, "GPUModel"); !model.empty()) gpu.model = model;
    gpu.uuid = gpu.vendor == GpuVendor::amd ? amd_uuid_of(first_info(os_devices, "AMDUUID"))
                                            : first_info(os_devices, "NVIDIAUUID");
}

// One GPU for each OS device of AMD's management library: a divided MI300A has several.
std::vector<Gpu> by_rsmi(const Gpu& whole, const std::vector<hwloc_obj_t>& os_devices) {
    std::vector<hwloc_obj_t> partitions;
    std::copy_if(
        os_devices.begin(), os_devices.end(), std::back_inserter(partitions),
        [](hwloc_obj_t device) { return std::string_view(device->name).starts_with("rsmi"); });
    if (partitions.empty()) return {whole};
    std::sort(partitions.begin(), partitions.end(), [](hwloc_obj_t left, hwloc_obj_t right) {
        return natural_less(left->name, right->name);
    });
    std::vector<Gpu> gpus(partitions.size(), whole);
    for (std::uint32_t i = 0; i < gpus.size(); ++i) {
        gpus[i].partition = i;
        describe(gpus[i], {partitions[i]});
    }
    return gpus;
}

// The same by AMD's compute driver. None where it does not drive the device: programs cannot
// compute there.
std::vector<Gpu> by_kfd(const Gpu& whole, const std::vector<KfdGpu>& known) {
    std::vector<Gpu> gpus;
    for (const KfdGpu& found : known) {
        if (pci_name(found.pci) != whole.pci) continue;
        Gpu& gpu = gpus.emplace_back(whole);
        gpu.partition = found.partition;
        gpu.minor = found.minor;
        gpu.uuid = found.uuid;
    }
    return gpus;
}

// Boards for data centres tell it.
std::string amd_model(const MachineRoots& roots, const std::string& pci) {
    const std::string file = formatted("{}/bus/pci/devices/{}/product_name", roots.sys, pci);
    return read_trimmed(file).value_or("");
}

}  // namespace

GpuIdentities::GpuIdentities(const MachineRoots* roots) : roots_(roots) {
    if (roots_ != nullptr) kfd_ = kfd_gpus(roots_->sys);
}

std::vector<Gpu> GpuIdentities::identify(const Gpu& gpu, hwloc_obj_t pci_device) {
    const auto os_devices = os_devices_of(pci_device);
    Gpu whole = gpu;
    whole.model = info(pci_device, "PCIDevice");
    describe(whole, os_devices);
    if (gpu.vendor == GpuVendor::amd) {
        if (roots_ != nullptr && whole.model.empty()) whole.model = amd_model(*roots_, gpu.pci);
        return kfd_.empty() ? by_rsmi(whole, os_devices) : by_kfd(whole, kfd_);
    }
    if (gpu.vendor == GpuVendor::nvidia && roots_ != nullptr) {
        ask_nvidia_driver(whole);
        if (!whole.minor && drives_gpus(roots_->proc)) return {};
    }
    return {whole};
}

// hwloc knows nothing of this where it was built without NVIDIA's library, as Debian's is.
void GpuIdentities::ask_nvidia_driver(Gpu& gpu) {
    const NvidiaInformation information = nvidia_information(roots_->proc, gpu.pci);
    if (!information.model.empty()) gpu.model = information.model;
    if (!information.uuid.empty()) gpu.uuid = information.uuid;
    gpu.minor = information.minor;
    if (!gpu.minor || !has_mig_instances(roots_->proc, *gpu.minor)) return;
    if (!nvml_) nvml_.emplace();
    gpu.mig = nvml_->mig_instances(gpu.pci);
}

}  // namespace distgpu::discovery
