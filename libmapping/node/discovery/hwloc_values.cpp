#include "node/discovery/hwloc_values.h"

#include "base/format.h"

namespace distgpu::discovery {

std::vector<std::uint32_t> numbers(hwloc_const_bitmap_t set) {
    std::vector<std::uint32_t> numbers;
    // The bound ends what an XML may say: a set of all numbers.
    constexpr int limit = CpuSet::cpu_limit;
    for (int n = hwloc_bitmap_first(set); n >= 0 && n < limit; n = hwloc_bitmap_next(set, n)) {
        numbers.push_back(static_cast<std::uint32_t>(n));
    }
    return numbers;
}

CpuSet cpu_set(hwloc_const_bitmap_t set) {
    CpuSet cpus;
    for (const std::uint32_t cpu : numbers(set)) cpus.add(cpu);
    return cpus;
}

std::string info(hwloc_obj_t object, const char* name) {
    const char* const value = hwloc_obj_get_info_by_name(object, name);
    return value == nullptr ? "" : value;
}

PciAddress pci_address(hwloc_obj_t pci_device) {
    const auto& pci = pci_device->attr->pcidev;
    return PciAddress{pci.domain} << 16U | static_cast<PciAddress>(pci.bus) << 8U |
           static_cast<PciAddress>(pci.dev) << 3U | pci.func;
}

std::string pci_name(PciAddress address) {
    return formatted("{:04x}:{:02x}:{:02x}.{:x}", address >> 16U, address >> 8U & 0xffU,
                     address >> 3U & 0x1fU, address & 0x7U);
}

hwloc_obj_t pci_device_of(hwloc_obj_t object) {
    while (object != nullptr && object->type != HWLOC_OBJ_PCI_DEVICE) object = object->parent;
    return object;
}

std::vector<hwloc_obj_t> os_devices_of(hwloc_obj_t pci_device) {
    std::vector<hwloc_obj_t> devices;
    for (hwloc_obj_t child = pci_device->io_first_child; child != nullptr;
         child = child->next_sibling) {
        if (child->type == HWLOC_OBJ_OS_DEVICE) devices.push_back(child);
    }
    return devices;
}

}  // namespace distgpu::discovery
