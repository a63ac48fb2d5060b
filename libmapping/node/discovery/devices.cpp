// Finds the GPUs and HCAs among the machine's PCI and network devices, and the partitions of a GPU.
#include "base/format.h"
#include "base/io/files.h"
#include "node/discovery/hwloc_machine.h"
#include "node/gpus.h"
#include "node/nvml.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>

namespace distgpu::discovery {
namespace {

// A GPU as AMD's compute driver counts it: a partitioned MI300A is several on one PCI device.
struct KfdGpu {
    PciAddress pci = 0;
    std::uint32_t partition = 0;
    std::optional<std::uint32_t> minor;  // of /dev/dri/renderDMINOR
    std::string uuid;  // as ROCm writes it, "GPU-" and 16 digits; empty if unknown
};

// The number in the line "NAME NUMBER"; 0 if absent.
std::uint64_t property(std::string_view properties, std::string_view name) {
    const std::string_view text = value_after(properties, formatted("{} ", name));
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

// A unique id in ROCm's form; empty for 0, which identifies nothing.
std::string amd_uuid(std::uint64_t unique_id) {
    return unique_id == 0 ? "" : formatted("GPU-{:016x}", unique_id);
}

// The fields are those of the kernel's drivers/gpu/drm/amd/amdkfd/kfd_topology.c. location_id: bus,
// device and function in bits 0-15, the partition in bits 28-31.
KfdGpu gpu_of(std::string_view properties) {
    const std::uint64_t location = property(properties, "location_id");
    const auto minor = static_cast<std::uint32_t>(property(properties, "drm_render_minor"));
    return {property(properties, "domain") << 16U | (location & 0xffffU),
            static_cast<std::uint32_t>(location >> 28U),
            minor == 0 ? std::nullopt : std::optional(minor),  // render nodes begin at 128
            amd_uuid(property(properties, "unique_id"))};
}

// From class/kfd/kfd/topology/nodes below `sys`; by address, then partition.
std::vector<KfdGpu> kfd_gpus(const std::string& sys) {
    std::vector<KfdGpu> gpus;
    const std::string nodes = sys + "/class/kfd/kfd/topology/nodes";
    for (const std::string& node : files_in(nodes)) {
        const auto properties = read_trimmed(formatted("{}/{}/properties", nodes, node));
        // CPUs are nodes too: they have no SIMD units.
        if (properties && property(*properties, "simd_count") > 0) {
            gpus.push_back(gpu_of(*properties));
        }
    }
    std::ranges::sort(gpus, {},
                      [](const KfdGpu& gpu) { return std::pair(gpu.pci, gpu.partition); });
    return gpus;
}

// The value of this info for the first OS device that has it; empty if none has.
std::string first_info(const std::vector<hwloc_obj_t>& os_devices, const char* name) {
    for (hwloc_obj* const device : os_devices) {
        if (std::string value = info_value(device, name); !value.empty()) return value;
    }
    return {};
}

// Sets the model and UUID that hwloc got from vendors' libraries and attached to the OS devices.
void add_model_and_uuid(Gpu& gpu, const std::vector<hwloc_obj_t>& os_devices) {
    if (std::string model = first_info(os_devices, "GPUModel"); !model.empty()) gpu.model = model;
    const bool is_amd = gpu.vendor == GpuVendor::amd;
    gpu.uuid = first_info(os_devices, is_amd ? "AMDUUID" : "NVIDIAUUID");
    if (!is_amd) return;
    std::uint64_t id = 0;  // hwloc has the bare number
    std::from_chars(gpu.uuid.data(), gpu.uuid.data() + gpu.uuid.size(), id, 16);
    gpu.uuid = amd_uuid(id);
}

// One GPU per OS device of AMD's management library: a partitioned MI300A has several.
std::vector<Gpu> rsmi_partitions(const Gpu& whole, const std::vector<hwloc_obj_t>& os_devices) {
    std::vector<hwloc_obj_t> partitions;
    std::copy_if(
        os_devices.begin(), os_devices.end(), std::back_inserter(partitions),
        [](hwloc_obj_t device) { return std::string_view(device->name).starts_with("rsmi"); });
    if (partitions.empty()) return {whole};
    std::sort(partitions.begin(), partitions.end(), [](hwloc_obj_t left, hwloc_obj_t right) {
        return strverscmp(left->name, right->name) < 0;
    });
    std::vector<Gpu> gpus(partitions.size(), whole);
    for (std::uint32_t i = 0; i < gpus.size(); ++i) {
        gpus[i].partition = i;
        add_model_and_uuid(gpus[i], {partitions[i]});
    }
    return gpus;
}

// The same from AMD's compute driver. Empty if it does not drive the device, because programs
// cannot compute there.
std::vector<Gpu> kfd_partitions(const Gpu& whole, const std::vector<KfdGpu>& known) {
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

// Data from this machine's drivers, in addition to hwloc's.
struct Drivers {
    const MachineRoots* roots;  // null if there is only hwloc's data
    std::vector<KfdGpu> kfd{};
    std::optional<Nvml> nvml{};  // loaded for the first GPU that has MIG instances
};

// hwloc does not have this data if it was built without NVIDIA's library, as on Debian.
void add_nvidia_driver_data(Drivers& drivers, Gpu& gpu) {
    const std::string& proc = drivers.roots->proc;
    const NvidiaInformation information = nvidia_information(proc, gpu.pci);
    if (!information.model.empty()) gpu.model = information.model;
    if (!information.uuid.empty()) gpu.uuid = information.uuid;
    gpu.minor = information.minor;
    if (!gpu.minor || !has_mig_instances(proc, *gpu.minor)) return;
    if (!drivers.nvml) drivers.nvml.emplace();
    gpu.mig = drivers.nvml->mig_instances(gpu.pci);
}

// The GPUs of a device, by partition: copies of `gpu`, whose address, vendor and place are known,
// with the model and identity of each.
std::vector<Gpu> identify(Drivers& drivers, Gpu gpu, hwloc_obj_t pci_device) {
    const auto os_devices = os_devices_of(pci_device);
    gpu.model = info_value(pci_device, "PCIDevice");
    add_model_and_uuid(gpu, os_devices);
    if (gpu.vendor == GpuVendor::amd) {
        if (drivers.roots != nullptr && gpu.model.empty()) {
            // Boards for data centers have it.
            gpu.model = read_trimmed(formatted("{}/bus/pci/devices/{}/product_name",
                                               drivers.roots->sys, gpu.pci))
                            .value_or("");
        }
        return drivers.kfd.empty() ? rsmi_partitions(gpu, os_devices)
                                   : kfd_partitions(gpu, drivers.kfd);
    }
    if (gpu.vendor == GpuVendor::nvidia && drivers.roots != nullptr) {
        add_nvidia_driver_data(drivers, gpu);
        if (!gpu.minor && nvidia_driver_has_gpus(drivers.roots->proc)) return {};
    }
    return {std::move(gpu)};
}

// PCI classes, from https://pci-ids.ucw.cz.
constexpr unsigned vga = 0x0300;
constexpr unsigned controller_3d = 0x0302;
constexpr unsigned other_display = 0x0380;
constexpr unsigned accelerator = 0x1200;

// ATI's chips that drive the screens of older servers and cannot compute: Rage XL, RV100, ES1000
// (https://pci-ids.ucw.cz names the servers) and its second id (xf86-video-ati's RN50_5969).
constexpr std::array<unsigned, 4> ati_screens{0x4752, 0x5159, 0x515e, 0x5969};

// Whether it is the screen of the mainboard. Intel's integrated graphics are always device 2 of bus
// 0; its data center GPUs are no VGA devices.
bool is_onboard_screen(hwloc_obj_t pci_device) {
    const auto& pci = pci_device->attr->pcidev;
    if (pci.class_id != vga) return false;
    if (pci.vendor_id == 0x1002) return std::ranges::count(ati_screens, pci.device_id) > 0;
    return pci.vendor_id == 0x8086 && pci.domain == 0 && pci.bus == 0 && pci.dev == 2;
}

// nullopt if not a GPU. The screens of other management controllers are VGA devices of other
// vendors; an MI300A is an accelerator, whereas Intel's accelerators are not GPUs, nor are FPGAs.
// Vendors are from https://pci-ids.ucw.cz.
std::optional<GpuVendor> gpu_vendor(hwloc_obj_t pci_device) {
    if (is_onboard_screen(pci_device)) return std::nullopt;
    const auto& pci = pci_device->attr->pcidev;
    const bool display =
        pci.class_id == vga || pci.class_id == controller_3d || pci.class_id == other_display;
    if (pci.vendor_id == 0x10de && display) return GpuVendor::nvidia;
    if (pci.vendor_id == 0x1002 && (display || pci.class_id == accelerator)) return GpuVendor::amd;
    if (pci.vendor_id == 0x8086 && display) return GpuVendor::intel;
    return std::nullopt;
}

struct GpuCandidate {
    GpuVendor vendor;
    PciAddress address;
    hwloc_obj_t pci_device;
};

// By vendor, then address.
std::vector<GpuCandidate> gpu_candidates(const HwlocMachine& machine) {
    std::vector<GpuCandidate> found;
    for (hwloc_obj_t device = hwloc_get_next_pcidev(machine.topology, nullptr); device != nullptr;
         device = hwloc_get_next_pcidev(machine.topology, device)) {
        const PciAddress address = pci_address(device);
        const auto vendor = gpu_vendor(device);
        if (vendor && !is_virtual_function(machine, pci_name(address))) {
            found.push_back({*vendor, address, device});
        }
    }
    std::ranges::sort(
        found, {}, [](const GpuCandidate& each) { return std::pair(each.vendor, each.address); });
    return found;
}

// PCI vendors, from https://pci-ids.ucw.cz.
constexpr unsigned amazon = 0x1d0f;
constexpr unsigned cray = 0x17db;

unsigned vendor_id(hwloc_obj_t pci_device) {
    return pci_device == nullptr ? 0 : pci_device->attr->pcidev.vendor_id;
}

// Whether it is the interface of a Slingshot NIC. The "cxi0" that newer releases of hwloc also list
// is the same NIC; an hsn0 with an OpenFabrics sibling is a ConnectX card of the first Slingshot.
bool is_slingshot(hwloc_obj_t os_device, hwloc_obj_t pci_device) {
    const std::string_view name = os_device->name;
    if (!is_of_type(os_device, HWLOC_OBJ_OSDEV_NETWORK) || pci_device == nullptr ||
        name.starts_with("cxi"))
        return false;
    if (vendor_id(pci_device) == cray) return true;
    const auto siblings = os_devices_of(pci_device);
    if (std::any_of(siblings.begin(), siblings.end(), is_openfabrics)) return false;
    const std::string_view subtype = os_device->subtype == nullptr ? "" : os_device->subtype;
    return subtype == "Slingshot" || name.starts_with("hsn");
}

// nullopt if not an HCA.
std::optional<HcaKind> hca_kind(hwloc_obj_t os_device) {
    hwloc_obj* const pci_device = pci_device_of(os_device);
    if (is_slingshot(os_device, pci_device)) return HcaKind::slingshot;
    if (!is_openfabrics(os_device)) return std::nullopt;
    return vendor_id(pci_device) == amazon ? HcaKind::efa : HcaKind::verbs;
}

// hwloc's infos are the numbers of InfiniBand's port states, of which 4 is ACTIVE.
std::vector<HcaPort> verbs_ports(hwloc_obj_t os_device) {
    std::vector<HcaPort> ports;
    for (std::uint32_t number = 1;; ++number) {
        const std::string state = info_value(os_device, formatted("Port{}State", number).c_str());
        if (state.empty()) return ports;
        ports.push_back({number, state == "4" ? HcaPort::State::active : HcaPort::State::down});
    }
}

}  // namespace

FoundGpus find_gpus(const HwlocMachine& machine) {
    FoundGpus found;
    Drivers drivers{machine.roots};
    if (machine.roots != nullptr) drivers.kfd = kfd_gpus(machine.roots->sys);
    for (const GpuCandidate& candidate : gpu_candidates(machine)) {
        NearestCpus nearest = nearest_cpus(machine, candidate.pci_device);
        Gpu gpu;
        gpu.pci = pci_name(candidate.address);
        gpu.vendor = candidate.vendor;
        gpu.numa = nearest.numa;
        gpu.cpus = std::move(nearest.cpus);
        std::vector<Gpu> identified = identify(drivers, std::move(gpu), candidate.pci_device);
        if (identified.empty()) continue;
        if (found.gpus.empty() || found.gpus.front().gpu.vendor == candidate.vendor) {
            for (Gpu& each : identified) {
                found.gpus.push_back({std::move(each), candidate.pci_device});
            }
        } else if (candidate.pci_device->attr->pcidev.class_id != vga) {
            // A VGA device, next to GPUs of another vendor, drives a screen.
            found.others.push_back({pci_name(candidate.address), candidate.vendor,
                                    std::move(identified.front().model)});
        }
    }
    return found;
}

std::vector<FoundHca> find_hcas(const HwlocMachine& machine) {
    std::vector<FoundHca> hcas;
    for (hwloc_obj_t device = hwloc_get_next_osdev(machine.topology, nullptr); device != nullptr;
         device = hwloc_get_next_osdev(machine.topology, device)) {
        const auto kind = hca_kind(device);
        if (!kind) continue;
        hwloc_obj* const pci_device = pci_device_of(device);
        const std::string pci = pci_device == nullptr ? "" : pci_name(pci_address(pci_device));
        if (is_virtual_function(machine, pci)) continue;
        NearestCpus nearest = nearest_cpus(machine, device);
        hcas.push_back(
            {{.name = device->name,
              .pci = pci,
              .kind = *kind,
              .numa = nearest.numa,
              .cpus = std::move(nearest.cpus),
              .ports = *kind == HcaKind::slingshot ? std::vector<HcaPort>(1) : verbs_ports(device)},
             device});
    }
    std::sort(hcas.begin(), hcas.end(), [](const FoundHca& left, const FoundHca& right) {
        return strverscmp(left.hca.name.c_str(), right.hca.name.c_str()) < 0;
    });
    return hcas;
}

}  // namespace distgpu::discovery
