#include "node/discovery/hcas.h"

#include "base/format.h"
#include "node/discovery/hwloc_values.h"
#include "node/discovery/hwloc_version.h"
#include "node/discovery/natural_order.h"
#include "node/discovery/nearest_cpus.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace distgpu::discovery {
namespace {

// PCI vendors, as https://pci-ids.ucw.cz lists them.
constexpr unsigned amazon = 0x1d0f;
constexpr unsigned cray = 0x17db;

unsigned vendor_id(hwloc_obj_t pci_device) {
    return pci_device == nullptr ? 0 : pci_device->attr->pcidev.vendor_id;
}

bool has_verbs(hwloc_obj_t pci_device) {
    const auto siblings = os_devices_of(pci_device);
    return std::any_of(siblings.begin(), siblings.end(), is_openfabrics);
}

// The interface of a Slingshot NIC. The "cxi0" that newer releases of hwloc list beside it is the
// same NIC; an hsn0 beside an OpenFabrics device is a ConnectX card of the first Slingshot.
bool is_slingshot(hwloc_obj_t os_device, hwloc_obj_t pci_device) {
    const std::string_view name = os_device->name;
    if (!is_network(os_device) || pci_device == nullptr || name.starts_with("cxi")) return false;
    if (vendor_id(pci_device) == cray) return true;
    if (has_verbs(pci_device)) return false;
    const std::string_view subtype = os_device->subtype == nullptr ? "" : os_device->subtype;
    return subtype == "Slingshot" || name.starts_with("hsn");
}

// Nothing: not an HCA.
std::optional<HcaKind> hca_kind(hwloc_obj_t os_device) {
    hwloc_obj* const pci_device = pci_device_of(os_device);
    if (is_slingshot(os_device, pci_device)) return HcaKind::slingshot;
    if (!is_openfabrics(os_device)) return std::nullopt;
    return vendor_id(pci_device) == amazon ? HcaKind::efa : HcaKind::verbs;
}

// hwloc's infos are the numbers of InfiniBand's states, of which 4 is ACTIVE.
std::vector<HcaPort> verbs_ports(hwloc_obj_t os_device) {
    std::vector<HcaPort> ports;
    for (std::uint32_t number = 1;; ++number) {
        const std::string state = info(os_device, formatted("Port{}State", number).c_str());
        if (state.empty()) return ports;
        ports.push_back({number, state == "4" ? HcaPort::State::active : HcaPort::State::down});
    }
}

FoundHca found_hca(const Source& source, hwloc_obj_t os_device, HcaKind kind) {
    NearestCpus nearest = nearest_cpus(source, os_device);
    hwloc_obj* const pci_device = pci_device_of(os_device);
    Hca hca;
    hca.name = os_device->name;
    if (pci_device != nullptr) hca.pci = pci_name(pci_address(pci_device));
    hca.kind = kind;
    hca.numa = nearest.numa;
    hca.cpus = std::move(nearest.cpus);
    hca.ports = kind == HcaKind::slingshot ? std::vector<HcaPort>(1) : verbs_ports(os_device);
    return {std::move(hca), os_device};
}

}  // namespace

std::vector<FoundHca> find_hcas(const Source& source) {
    std::vector<FoundHca> hcas;
    for (hwloc_obj_t device = hwloc_get_next_osdev(source.topology, nullptr); device != nullptr;
         device = hwloc_get_next_osdev(source.topology, device)) {
        const auto kind = hca_kind(device);
        if (!kind) continue;
        FoundHca found = found_hca(source, device, *kind);
        if (!is_virtual_function(source, found.hca.pci)) hcas.push_back(std::move(found));
    }
    std::sort(hcas.begin(), hcas.end(), [](const FoundHca& left, const FoundHca& right) {
        return natural_less(left.hca.name, right.hca.name);
    });
    return hcas;
}

}  // namespace distgpu::discovery
